"""Measures models that PT2E has quantised beside the same models in f32, both on rxla, and prints a table.

    PJRT_DEVICE=RXLA python benches/torch_quantized.py
    PJRT_DEVICE=RXLA python benches/torch_quantized.py --only mlp --rounds 5
    XLA_FLAGS=--xla_disable_hlo_passes=quantized-dot-rewriter PJRT_DEVICE=RXLA python benches/torch_quantized.py

The third shows what the quantised models take where their products stay those of floats. Both models run by turns
in one process, as `torch.compile(…, backend="openxla")` makes them: traced once, so that a step is the program and
what calls it. Results of the quantised model are compared with those of the same quantised model in plain PyTorch,
and these with the f32 model, which is what quantising costs. Weights are random; batch norms are not, so that
values have the sizes that they have in trained networks.
"""

import argparse
import time
import warnings

import page
import torch_run

ROUNDS = 20


def mlp():
    """Three layers, 1024 to 2048 wide, on 128 rows."""
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 1024))
    return model, torch.randn(128, 1024)


def mlp_row():
    """The same on one row."""
    import torch

    return mlp()[0], torch.randn(1, 1024)


def cnn():
    """The network of `torch_run.py`: 32 images of 32 by 32."""
    model, x, _ = torch_run.cnn()
    return model, x


def resnet18():
    """torchvision's, on one image of 224 by 224."""
    import torch
    import torchvision

    return torchvision.models.resnet18(), torch.randn(1, 3, 224, 224)


MODELS = [mlp, mlp_row, cnn, resnet18]


def settle(model, x) -> None:
    """Gives batch norms the means and variances of what comes in."""
    import torch

    norms = [part for part in model.modules() if isinstance(part, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None
    model.train()
    model(x)
    model.eval()


def quantised(model, x):
    """The model as PT2E makes it for int8, with a scale for each output channel of weights."""
    import torch
    from torch.ao.quantization.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torch.ao.quantization.quantizer import xnnpack_quantizer

    config = xnnpack_quantizer.get_symmetric_quantization_config(is_per_channel=True)
    quantizer = xnnpack_quantizer.XNNPACKQuantizer().set_global(config)
    prepared = prepare_pt2e(torch.export.export(model, (x,)).module(), quantizer)
    prepared(x)
    return convert_pt2e(prepared)


def measure(make, rounds: int) -> dict:
    import torch
    import torch_xla

    torch.manual_seed(0)
    model, x = make()
    settle(model, x)
    small = quantised(model, x)
    plain, wanted = model(x), small(x)
    device = torch_xla.device()
    x = x.to(device)
    models = {"f32": model.to(device), "int8": small.to(device)}
    runs = {name: torch.compile(model, backend="openxla") for name, model in models.items()}

    def step(name: str) -> tuple[float, torch.Tensor]:
        begun = time.perf_counter()
        result = runs[name](x).cpu()
        return time.perf_counter() - begun, result

    found = {name: [step(name) for _ in range(3)][-1][1] for name in runs}
    times = {name: [] for name in runs}
    for _ in range(rounds):
        for name in runs:
            times[name] += [step(name)[0] for _ in range(10)]
    size = wanted.abs().max().item()
    return {
        "name": make.__name__, "about": make.__doc__.rstrip("."),
        "median": {name: sorted(own)[len(own) // 2] for name, own in times.items()},
        "best": {name: min(own) for name, own in times.items()},
        "apart": (found["int8"] - wanted).abs().max().item() / size,
        "cost": (plain - wanted).abs().max().item() / size,
        "f32 apart": (found["f32"] - plain).abs().max().item() / size,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="models whose name contains one of these, comma-separated")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="ten steps of each model a round")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    import torch

    parts = options.only.split(",") if options.only else [""]
    records = []
    with torch.no_grad():
        for make in MODELS:
            if any(part in make.__name__ for part in parts):
                records.append(measure(make, options.rounds))
    print("| model | f32, ms | int8, ms | ratio | ratio of the best | apart | quantising |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for record in records:
        median, best = record["median"], record["best"]
        print(
            f"| `{record['name']}`: {record['about']} | {median['f32'] * 1e3:.2f} | {median['int8'] * 1e3:.2f} "
            f"| {median['f32'] / median['int8']:.2f} | {best['f32'] / best['int8']:.2f} "
            f"| {record['apart']:.1e} | {record['cost']:.1e} |"
        )
    ratios = [record["best"]["f32"] / record["best"]["int8"] for record in records]
    print(f"\nGeometric mean of the ratios of the best: {page.geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
