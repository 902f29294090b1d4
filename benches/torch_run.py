"""Measures PyTorch programs on rxla beside torch_xla's own CPU device and plain PyTorch, and prints a table.

    python benches/torch_run.py                                  # everything, about twenty minutes, 16 GB
    python benches/torch_run.py --only cnn_train --rounds 3
    python benches/torch_run.py --write docs/performance.md      # puts the table into that page's section

Each way of running (PyTorch/XLA on rxla, PyTorch/XLA on its CPU device, PyTorch eager, `torch.compile`) is a process.
The processes are asked for a few steps by turns, so that what else the machine does hits all alike. A step's time
is from its first line of Python to its result in memory, tracing included. What a device still does then, as to
update weights after the loss is there, counts in the next step, which waits for it, and in the last one of a turn.
The time to compile is what the first three steps took beyond three later ones, in a fresh process with empty
caches. A ratio is another's time divided by rxla's: above 1 rxla is faster. Losses are compared, too.
"""

import argparse
import datetime
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import page

WAYS = {
    "rxla": "PyTorch/XLA on rxla",
    "xla": "PyTorch/XLA on its CPU device",
    "eager": "PyTorch, eager",
    "compiled": "PyTorch, `torch.compile`",
}


def cnn():
    """A small residual network on images of 32 by 32."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
                nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after),
            )
            self.side = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

        def forward(self, x):
            return torch.relu(self.body(x) + self.side(x))

    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, 1, 1), nn.ReLU(), Block(32, 32, 1), Block(32, 64, 2), Block(64, 128, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10),
    )
    return model, torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))


def gpt(layers: int, width: int, heads: int, words: int, batch: int):
    """A GPT on texts of 128 tokens."""
    import torch
    from torch import nn
    from torch.nn import functional

    length = 128

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            parts = self.qkv(self.before(x)).chunk(3, -1)
            q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in parts)
            attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).flatten(2))
            return x + self.mlp(self.between(x))

    class Gpt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.zeros(length, width))
            self.blocks, self.norm = nn.Sequential(*[Block() for _ in range(layers)]), nn.LayerNorm(width)
            self.head = nn.Linear(width, words, bias=False)

        def forward(self, x):
            return self.head(self.norm(self.blocks(self.words(x) + self.places))).flatten(0, 1)

    text = torch.randint(0, words, (batch, length + 1))
    return Gpt(), text[:, :-1].contiguous(), text[:, 1:].flatten()


def mlp():
    """Three layers on a hundred rows."""
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return model, torch.randn(100, 256), torch.randint(0, 10, (100,))


MODELS = {
    "mlp": mlp,
    "cnn": cnn,
    # Four layers, 128 wide, over eight texts of bytes.
    "gpt": functools.partial(gpt, 4, 128, 4, 256, 8),
    # The size of the smallest GPT-2, over one text.
    "gpt2": functools.partial(gpt, 12, 768, 12, 50257, 1),
}
PROGRAMS = [f"{model}_{kind}" for model in MODELS for kind in ("infer", "train")]


def worker(program: str, way: str) -> None:
    """Reads a number of steps a line from standard input, and answers with their times and the last result."""
    import torch
    from torch.nn import functional

    model, kind = program.split("_")
    torch.manual_seed(0)
    lazy = way in ("rxla", "xla")
    device = "cpu"
    if lazy:
        import torch_xla
        import torch_xla.core.xla_model as xm
        device = torch_xla.device()
    model, x, y = MODELS[model]()
    model, x, y = model.to(device), x.to(device), y.to(device)
    run = torch.compile(model) if way == "compiled" else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def train() -> float:
        optimizer.zero_grad()
        loss = functional.cross_entropy(run(x), y)
        loss.backward()
        optimizer.step()
        if lazy:
            torch_xla.sync()
        return loss.item()

    def infer() -> float:
        with torch.no_grad():
            result = run(x)
        if lazy:
            torch_xla.sync()
        return result.cpu()[0, 0].item()

    if kind == "infer":
        model.eval()
    elif lazy:
        torch_xla.sync()
    step = train if kind == "train" else infer
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            begun = time.perf_counter()
            result = step()
            times.append(time.perf_counter() - begun)
        if lazy:
            begun = time.perf_counter()
            xm.wait_device_ops()
            times[-1] += time.perf_counter() - begun
        print(json.dumps({"times": times, "result": result}), flush=True)


def start(program: str, way: str, cache: str) -> subprocess.Popen:
    environment = {
        **os.environ, "RXLA_CACHE_DIR": f"{cache}/rxla", "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor",
        "PJRT_DEVICE": "CPU" if way == "xla" else "RXLA",
    }
    command = [sys.executable, __file__, "--worker", program, way]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process: subprocess.Popen, steps: int) -> dict:
    process.stdin.write(f"{steps}\n")
    process.stdin.flush()
    return answer(process)


def answer(process: subprocess.Popen):
    for line in process.stdout:
        # What libraries print comes between.
        if line.startswith(("{", '"')):
            return json.loads(line)
    raise SystemExit(f"a worker ended with code {process.wait()}")


def measure(program: str, ways: list[str], rounds: int) -> dict:
    """For each way the median and best time of a step, and the time to compile, in seconds."""
    record = {"program": program}
    with tempfile.TemporaryDirectory() as cache:
        processes = {way: start(program, way, cache) for way in ways}
        for process in processes.values():
            answer(process)
        # Compiling goes one after the other: it uses all processors.
        first = {way: ask(process, 3) for way, process in processes.items()}
        results = {way: found["result"] for way, found in first.items()}
        times = {way: [] for way in ways}
        for _ in range(rounds):
            for way, process in processes.items():
                usual = min(times[way], default=0.05)
                times[way] += ask(process, max(3, min(200, int(0.5 / usual))))["times"]
        for way in ways:
            usual = sorted(times[way])[len(times[way]) // 2]
            record[way] = {
                "step": usual, "best": min(times[way]), "compile": sum(first[way]["times"]) - 3 * usual,
            }
        for process in processes.values():
            process.stdin.close()
            process.wait()
        # A second process finds what the first one compiled.
        again = start(program, "rxla", cache)
        answer(again)
        record["again"] = sum(ask(again, 3)["times"]) - 3 * record["rxla"]["step"]
        again.stdin.close()
        again.wait()
    record["apart"] = max(abs(result - results["rxla"]) / max(1, abs(result)) for result in results.values())
    return record


def table(records: list[dict], ways: list[str]) -> list[str]:
    """The lines of a page's section."""
    others = [way for way in ways if way != "rxla"]
    lines = ["A step in milliseconds, and in brackets how many times rxla's.", ""]
    lines += ["| program | " + " | ".join(WAYS[way] for way in ways) + " |", "|---|" + "--:|" * len(ways)]
    lines += rows(records, ways, "step")
    lines += ["", "Compiling, in milliseconds; the last column is a second process on rxla, which finds what the first one kept.", ""]
    compiling = [way for way in ways if way != "eager"]
    lines += ["| program | " + " | ".join(WAYS[way] for way in compiling) + " | again |", "|---|" + "--:|" * (len(compiling) + 1)]
    lines += [f"{row} {record['again'] * 1e3:.0f} |" for row, record in zip(rows(records, compiling, "compile"), records)]
    means = []
    for way in others:
        ratios = [record[way]["step"] / record["rxla"]["step"] for record in records]
        means.append(f"{page.geometric_mean(ratios):.2f} beside {WAYS[way]}")
    lines += ["", f"Geometric means of steps: {', '.join(means)}."]
    return lines


def rows(records: list[dict], ways: list[str], what: str) -> list[str]:
    lines = []
    for record in records:
        cells = []
        for way in ways:
            seconds, ours = record[way][what], record["rxla"][what]
            form = f"{seconds * 1e3:.2f}" if what == "step" else f"{seconds * 1e3:.0f}"
            cells.append(form if way == "rxla" else f"{form} ({seconds / ours:.2f})")
        lines.append(f"| `{record['program']}` | {' | '.join(cells)} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="programs whose name contains one of these, comma-separated")
    parser.add_argument("--ways", default=",".join(WAYS), help=f"of: {', '.join(WAYS)}")
    parser.add_argument("--rounds", type=int, default=10, help="how often each process is asked")
    parser.add_argument("--json", type=pathlib.Path, help="write results here, too")
    parser.add_argument("--write", type=pathlib.Path, help="the page to put the table into")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(*options.worker)
        return 0
    parts = options.only.split(",") if options.only else [""]
    ways = [way for way in WAYS if way in options.ways.split(",")]
    records = []
    for program in PROGRAMS:
        if any(part in program for part in parts):
            record = measure(program, ways, options.rounds)
            records.append(record)
            figures = ", ".join(
                f"{way} {record[way]['step'] * 1e3:.2f} (best {record[way]['best'] * 1e3:.2f}, compiling "
                f"{record[way]['compile'] * 1e3:.0f})" for way in ways
            )
            apart = "" if record["apart"] < 1e-2 else f"  RESULTS DIFFER by {record['apart']:.2g}"
            print(f"{program}: {figures}, again {record['again'] * 1e3:.0f}{apart}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(records, indent=1))
    import torch

    lines = [
        f"Written by `benches/torch_run.py` on {datetime.date.today().isoformat()}, {os.cpu_count()} processors, PyTorch "
        f"{torch.__version__.split('+')[0]}; medians of steps, tracing included, processes by turns.", "", *table(records, ways),
    ]
    print("\n" + "\n".join(lines))
    if options.write:
        page.write(options.write, "benches/torch_run.py", "PyTorch", lines)
    return 0 if all(record["apart"] < 1e-2 for record in records) else 1


if __name__ == "__main__":
    sys.exit(main())
