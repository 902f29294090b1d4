"""Measures the programs of the group `models` on rxla beside PyTorch, ONNX Runtime and OpenVINO, and prints a table.

    python benches/peers.py                                      # everything, about half an hour
    python benches/peers.py --only resnet50 --ways rxla,eager --rounds 3
    python benches/peers.py --python ~/peers/bin/python          # whose packages are not those of JAX
    python benches/peers.py --json peers.json --write docs/performance.md

The programs are those of `run.py`, on JAX, and the same in PyTorch (`torch_models.py`), eager and by `torch.compile`;
those without training also go through ONNX to ONNX Runtime and OpenVINO, in f32. Arguments and parameters are the
same arrays everywhere, and results of the first step are compared. Parameters in training and caches in decoding
are updated where they are: in JAX they are donated.

Each way of running is a process. The processes are asked for some steps by turns, so that what else the machine
does hits all alike; a step's time is from its call to its result in memory. Medians are compared, the fastest
peer's with rxla's: above 1 rxla is faster. Every way has as many threads as the machine has processors.

`--json` keeps results: a later run puts its own to those in the file, and shows and writes all of them. PyTorch,
`onnx`, `onnxscript`, `onnxruntime` and `openvino` come from PyPI; who is not installed is left out.
"""

import argparse
import datetime
import importlib.util
import json
import os
import pathlib
import pickle
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import page  # noqa: E402

WAYS = {
    "rxla": "rxla", "eager": "PyTorch, eager", "compiled": "PyTorch, compiled",
    "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO",
}
PACKAGES = {
    "rxla": ["jax"], "eager": ["torch"], "compiled": ["torch"], "onnxruntime": ["torch", "onnx", "onnxruntime"],
    "openvino": ["torch", "onnx", "openvino"],
}
# Each program with the arguments it updates, and where their new values are in its result.
PROGRAMS = {
    "mnist_mlp_forward": {}, "resnet50_forward": {}, "mobile_block_forward": {}, "vit_b16_forward": {},
    "gpt2_small_prefill": {}, "gpt2_small_decode_f32": {1: 1}, "gpt2_small_decode_bf16": {1: 1}, "kmeans": {},
    "mnist_mlp_train": {0: 0, 1: 1, 2: 2}, "cnn_train": {0: 0, 1: 1, 2: 2}, "resnet50_train": {0: 1},
    "unet_block_train": {0: 1}, "gpt_tiny_train": {0: 1}, "gpt2_small_train": {0: 1}, "lstm_train": {0: 1},
    "moe_block_train": {0: 1}, "dlrm_train": {0: 1}, "neural_ode_train": {0: 1},
}
# A ratio from which on a program is level with another.
LEVEL = 0.95
# How far results may be apart: roundings move a point of `kmeans` to another centre. More where a workload allows more.
APART = 5e-2


def on_rxla(name: str, folder: pathlib.Path) -> dict:
    """The workload on JAX; its arguments are left for the others."""
    import jax
    import worker  # starts JAX as `run.py` does
    from workloads import all_workloads

    workload = next(w for w in all_workloads() if w.name == name)
    program, args = workload.make()
    plain = jax.tree.map(lambda leaf: np.asarray(leaf, np.float32) if leaf.dtype.name == "bfloat16" else leaf, args)
    (folder / "arguments").write_bytes(pickle.dumps(plain))
    updated = PROGRAMS[name]
    device = jax.devices("rxla")[0]
    args = list(jax.device_put(args, device))
    with jax.default_device(device):
        executable = jax.jit(program, donate_argnums=tuple(updated)).lower(*args).compile()

    def step():
        result = jax.block_until_ready(executable(*args))
        for argument, place in updated.items():
            args[argument] = result[place]
        return result

    first = [np.asarray(leaf, np.float32) for leaf in jax.tree.leaves(jax.device_get(step()))]
    return {"step": step, "first": first, "tolerance": workload.tolerance}


def on_torch(name: str, folder: pathlib.Path, compiled: bool) -> dict:
    import torch
    import torch_models

    program = torch_models.PROGRAMS[name]
    given = pickle.loads((folder / "arguments").read_bytes())

    def make(run):
        args = program.tensors(given)
        fixed = [leaf for _, leaf in torch_models.leaves(args[: program.fixed])]

        def train():
            loss = run(*args)
            loss.backward()
            torch_models.update(fixed)
            return loss

        def infer():
            with torch.no_grad():
                return run(*args)

        step = train if program.train else infer
        return step, program.results(step(), args)

    if compiled:
        step, first = make(torch.compile(program.run))
        return {"step": step, "first": first}
    torch_models.same_padding = True
    exact = make(program.run)[1]
    torch_models.same_padding = False
    step, first = make(program.run)
    return {"step": step, "first": first, "exact": exact}


def exported(name: str, folder: pathlib.Path):
    """The program as ONNX with its parameters inside, and the other arguments by their names."""
    import torch
    import torch_models

    program = torch_models.PROGRAMS[name]
    if program.train:
        raise SystemExit("training has no form in ONNX")
    torch_models.in_place = False
    args = program.tensors(pickle.loads((folder / "arguments").read_bytes()))
    module = torch_models.Module(program, args).eval()
    batch = args[program.fixed :]
    inputs = [leaf for _, leaf in torch_models.leaves(batch)]
    names = [f"in{i}" for i in range(len(inputs))]
    path = folder / "model.onnx"
    if not path.exists():
        with torch.no_grad():
            torch.onnx.export(module, tuple(batch), str(path), input_names=names, dynamo=True, verbose=False)
    return path, inputs, names, program


def on_onnxruntime(name: str, folder: pathlib.Path) -> dict:
    path, inputs, names, program = exported(name, folder)
    import onnxruntime
    import torch

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = os.cpu_count()
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    feed = {key: leaf.contiguous().numpy() for key, leaf in zip(names, inputs)}
    step = lambda: session.run(None, feed)  # noqa: E731
    return {"step": step, "first": [program.output(torch.from_numpy(leaf)) for leaf in step()]}


def on_openvino(name: str, folder: pathlib.Path) -> dict:
    path, inputs, names, program = exported(name, folder)
    import openvino
    import torch

    def tensor(leaf):
        if leaf.dtype != torch.bfloat16:
            return leaf.numpy()
        return openvino.Tensor(leaf.view(torch.int16).numpy(), openvino.Shape(leaf.shape), openvino.Type.bf16)

    core = openvino.Core()
    model = core.compile_model(core.read_model(path), "CPU", {
        "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": os.cpu_count(),
    })
    feed = [tensor(leaf.contiguous()) for leaf in inputs]
    request = model.create_infer_request()
    step = lambda: request.infer(feed, share_inputs=True, share_outputs=True)  # noqa: E731
    result = step()
    first = [torch.from_numpy(result[out]) for out in model.outputs]
    # NumPy has no such type: the bits come as integers or as those of f16.
    first = [leaf.view(torch.bfloat16) if program.bf16 and leaf.dtype != torch.float32 else leaf for leaf in first]
    return {"step": step, "first": [program.output(leaf) for leaf in first]}


MAKERS = {
    "rxla": on_rxla, "eager": lambda *at: on_torch(*at, False), "compiled": lambda *at: on_torch(*at, True),
    "onnxruntime": on_onnxruntime, "openvino": on_openvino,
}


def work(name: str, way: str, folder: pathlib.Path) -> None:
    """Reads a number of steps a line from standard input, and answers with their times."""
    missing = [package for package in PACKAGES[way] if importlib.util.find_spec(package) is None]
    if missing:
        return tell({"error": f"{', '.join(missing)} not installed"})
    try:
        made = MAKERS[way](name, folder)
    except BaseException as error:  # what cannot be made is a result, too
        said = str(error).strip().splitlines() or [""]
        return tell({"error": said[0][:160] if isinstance(error, SystemExit) else f"{type(error).__name__}: {said[0][:160]}"})
    for kind in ("first", "exact"):
        if kind in made:
            (folder / f"{way}.{kind}").write_bytes(pickle.dumps(made[kind]))
    tell({"tolerance": made.get("tolerance")})
    step = made["step"]
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            begun = time.perf_counter()
            step()
            times.append(time.perf_counter() - begun)
        tell(times)


def tell(what) -> None:
    print("\x1e" + json.dumps(what), flush=True)


class Worker:
    """A process that runs a program one way."""

    def __init__(self, name: str, way: str, folder: pathlib.Path, options) -> None:
        environment = {
            **os.environ, "JAX_PLATFORMS": "cpu,rxla", "RXLA_CACHE_DIR": str(folder / "rxla"), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE.parent / "python"), os.environ.get("PYTHONPATH")])),
        }
        python = sys.executable if way == "rxla" else options.python
        command = [python, str(HERE / "peers.py"), "--worker", name, way, str(folder)]
        errors = None if options.verbose else subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        self.limit = options.limit
        made = self.answer()
        self.error, self.tolerance = made.get("error"), made.get("tolerance")

    def answer(self):
        """The next thing it says; if that takes too long, or it ends, that."""
        timer = threading.Timer(self.limit, self.process.kill)
        timer.start()
        try:
            for line in self.process.stdout:
                # What libraries print comes between.
                if line.startswith("\x1e"):
                    return json.loads(line[1:])
        finally:
            timer.cancel()
        code = self.process.wait()
        return {"error": f"took longer than {self.limit:.0f} s" if code == -9 else f"ended with code {code}"}

    def steps(self, count: int) -> list[float]:
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        times = self.answer()
        if isinstance(times, dict):
            raise SystemExit(f"a worker that had run {times['error']}")
        return times

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def measure(name: str, ways: list[str], options) -> dict:
    """For each way the median and best time of a step in seconds, or why there is none; and how far results differ."""
    record = {"program": name, "reasons": {}}
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        workers = {}
        for way in ways:
            worker = Worker(name, way, folder, options)
            if worker.error:
                record["reasons"][way] = worker.error
                if way == "rxla":
                    raise SystemExit(f"rxla does not run {name}: {worker.error}")
            else:
                workers[way] = worker
        record["tolerance"] = workers["rxla"].tolerance
        record["apart"] = differences(folder, list(workers))
        for way, times in turns(workers, options).items():
            record[way] = {"step": statistics.median(times), "best": min(times)}
        for worker in workers.values():
            worker.end()
    return record


def turns(workers: dict[str, Worker], options) -> dict[str, list[float]]:
    """Times of steps of each worker; a first turn warms up, and says how many steps fit into one."""
    usual = {way: min(worker.steps(max(1, int(options.seconds / min(worker.steps(2)))))) for way, worker in workers.items()}
    times = {way: [] for way in workers}
    for _ in range(options.rounds):
        for way, worker in workers.items():
            times[way] += worker.steps(max(1, min(1000, int(options.seconds / usual[way]))))
    return times


def differences(folder: pathlib.Path, ways: list[str]) -> dict[str, float]:
    """How far first results are from those of rxla; where windows have strides only eager PyTorch has run its padding,
    and the others are compared with PyTorch."""
    load = lambda name: pickle.loads((folder / name).read_bytes())  # noqa: E731
    if "eager" not in ways:
        return {}
    eager = load("eager.first")
    found = {"eager": apart(load("rxla.first"), load("eager.exact"))}
    return {**found, **{way: apart(eager, load(f"{way}.first")) for way in ways if way not in ("rxla", "eager")}}


def apart(wanted: list[np.ndarray], got: list[np.ndarray]) -> float:
    """The largest difference, relative to the largest number of its array."""
    if [want.shape for want in wanted] != [have.shape for have in got]:
        return float("inf")
    worst = 0.0
    for want, have in zip(wanted, got):
        want, have = want.astype(np.float64), have.astype(np.float64)
        far = np.abs(want - have).max() / max(np.abs(want).max(), 1e-30)
        worst = max(worst, float(far) if np.isfinite(far) else float("inf"))
    return worst


def best_peer(record: dict) -> float | None:
    """The fastest peer's time as a multiple of rxla's."""
    steps = [record[way]["step"] for way in WAYS if way in record and way != "rxla"]
    return min(steps) / record["rxla"]["step"] if steps else None


def lines_of(records: list[dict]) -> list[str]:
    """The lines of a page's section."""
    ways = [way for way in WAYS if any(way in record for record in records)]
    rows, reasons = [], {}
    for record in records:
        ratio = best_peer(record)
        cells = [f"{record[way]['step'] * 1e3:.4g}" if way in record else "–" for way in ways]
        rows.append([f"`{record['program']}`", *cells, f"{ratio:.2f}" if ratio else "–"])
        for way, reason in record["reasons"].items():
            reasons.setdefault((way, reason), []).append(f"`{record['program']}`")
    lines = page.table(["program, in milliseconds", *(WAYS[way] for way in ways), "best peer ÷ rxla"], rows)
    ratios = [ratio for record in records if (ratio := best_peer(record))]
    if ratios:
        level = sum(ratio >= LEVEL for ratio in ratios)
        lines += ["", f"Level with the best peer ({LEVEL} or more) or ahead in {level} of {len(ratios)} programs (goal: 2 in 3); geometric mean "
                      f"{page.geometric_mean(ratios):.2f}."]
    if reasons:
        lines += ["", "Not measured (–):", ""]
    alike = {}
    for (way, reason), programs in reasons.items():
        alike.setdefault((reason, ", ".join(programs)), []).append(WAYS[way])
    return lines + [f"- {', '.join(who)}: {reason} ({programs})" for (reason, programs), who in alike.items()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="programs whose name contains one of these, comma-separated")
    parser.add_argument("--ways", default=",".join(WAYS), help=f"of: {', '.join(WAYS)}")
    parser.add_argument("--python", default=sys.executable, help="the Python that has the peers, if not this one")
    parser.add_argument("--rounds", type=int, default=8, help="turns of each process")
    parser.add_argument("--seconds", type=float, default=0.4, help="for a turn, at least one step")
    parser.add_argument("--limit", type=float, default=600, help="seconds to compile, and for a turn")
    parser.add_argument("--json", type=pathlib.Path, help="keep results here")
    parser.add_argument("--write", type=pathlib.Path, help="the page to put the table into")
    parser.add_argument("--verbose", action="store_true", help="show what the processes say")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        name, way, folder = options.worker
        work(name, way, pathlib.Path(folder))
        return 0
    parts = options.only.split(",") if options.only else [""]
    ways = [way for way in WAYS if way == "rxla" or way in options.ways.split(",")]
    kept = json.loads(options.json.read_text()) if options.json and options.json.exists() else []
    records = {record["program"]: record for record in kept}
    right = True
    for name in PROGRAMS:
        if any(part in name for part in parts):
            record = records[name] = measure(name, ways, options)
            far = {way: much for way, much in record["apart"].items() if much > max(APART, record["tolerance"])}
            right &= not far
            show(record, far)
            if options.json:
                options.json.write_text(json.dumps(list(records.values()), indent=1))
    # Each run may add programs: the order is that of the list.
    ordered = [records[name] for name in PROGRAMS if name in records]
    lines = [
        f"Written by `benches/peers.py` on {datetime.date.today().isoformat()}, {os.cpu_count()} threads each, {versions(options.python)}; "
        "medians of steps, processes by turns.", "", *lines_of(ordered),
    ]
    print("\n" + "\n".join(lines))
    if options.write:
        page.write(options.write, "benches/peers.py", "Peers", lines)
    return 0 if right else 1


def show(record: dict, far: dict[str, float]) -> None:
    figures = ", ".join(f"{way} {record[way]['step'] * 1e3:.3f} (best {record[way]['best'] * 1e3:.3f})" for way in WAYS if way in record)
    ratio = best_peer(record)
    print(f"{record['program']}: {figures}{f', ratio {ratio:.2f}' if ratio else ''}", flush=True)
    for way, reason in record["reasons"].items():
        print(f"  {way}: {reason}", flush=True)
    for way, much in far.items():
        print(f"  RESULTS DIFFER on {way} by {much:.2g}", flush=True)


def versions(python: str) -> str:
    """Names and versions of the peers that a Python has."""
    code = "import importlib.metadata as m\nfor n in ('torch', 'onnxruntime', 'openvino'):\n try: print(n, m.version(n).split('+')[0])\n except m.PackageNotFoundError: pass"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return ", ".join(found.stdout.splitlines()) or "no peers installed"


if __name__ == "__main__":
    sys.exit(main())
