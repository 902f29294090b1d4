"""Trains a small convolutional classifier on scikit-learn's handwritten digits with PyTorch/XLA.

Run alone it trains on the device that ``PJRT_DEVICE`` names. With ``--compare`` it trains twice, in a process each,
on rxla and on PyTorch/XLA's own CPU device, and prints both side by side. It is the network of ``examples/jax/digits.py``.
"""

import argparse
import json
import os
import subprocess
import sys
import time


def train(epochs: int, batch: int, seed: int) -> dict:
    """One training run; returns losses, accuracy and times in seconds."""
    import numpy as np
    import torch
    import torch_xla
    import torch_xla.runtime as xr
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from torch import nn
    from torch.nn import functional

    digits = load_digits()
    images = (digits.images[:, None] / 16.0).astype(np.float32)
    labels = digits.target.astype(np.int64)
    x_train, x_test, y_train, y_test = train_test_split(
        images, labels, test_size=0.2, random_state=seed, stratify=labels
    )

    torch.manual_seed(seed)
    device = torch_xla.device()
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10),
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    print(f"training on {xr.device_type()}, torch_xla {torch_xla.__version__}", flush=True)

    def step(x, y):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        return loss.item()

    order = np.random.default_rng(seed)
    losses, step_times = [], []
    for epoch in range(epochs):
        shuffled = order.permutation(len(x_train))
        epoch_losses = []
        for first in range(0, len(shuffled) - batch + 1, batch):
            rows = shuffled[first : first + batch]
            begun = time.perf_counter()
            loss = step(torch.from_numpy(x_train[rows]).to(device), torch.from_numpy(y_train[rows]).to(device))
            epoch_losses.append(loss)
            step_times.append(time.perf_counter() - begun)
        losses.append(float(np.mean(epoch_losses)))
        print(f"  epoch {epoch + 1:2}/{epochs}  loss {losses[-1]:.4f}", flush=True)
    with torch.no_grad():
        found = model(torch.from_numpy(x_test).to(device)).argmax(-1).cpu().numpy()
    accuracy = float((found == y_test).mean())
    print(f"  test accuracy {accuracy:.2%}", flush=True)
    # The first steps trace and compile.
    usual = float(np.median(step_times))
    return {
        "losses": losses,
        "accuracy": accuracy,
        "first_seconds": float(sum(step_times[:3]) - 3 * usual),
        "step_seconds": usual,
    }


def compare(arguments: list[str]) -> int:
    """Trains on rxla and on PyTorch/XLA's CPU device and prints a table; returns a process exit code."""
    results = {}
    for name, device in (("rxla", "RXLA"), ("XLA:CPU", "CPU")):
        environment = dict(os.environ, PJRT_DEVICE=device)
        command = [sys.executable, __file__, *arguments, "--json"]
        run = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        last = ""
        for line in run.stdout:
            if line.startswith("{"):
                last = line
            else:
                print(line, end="", flush=True)
        if run.wait() != 0 or not last:
            print(f"the run on {name} failed", file=sys.stderr)
            return 1
        results[name] = json.loads(last)

    ours, theirs = results["rxla"], results["XLA:CPU"]
    print(f"\n{'':28}{'rxla':>12}{'XLA:CPU':>12}")
    rows = (
        ("test accuracy", "accuracy", 1, "{:.2%}"),
        ("last epoch's loss", "losses", 1, "{:.4f}"),
        ("tracing and compiling (s)", "first_seconds", 1, "{:.3f}"),
        ("time per step (ms)", "step_seconds", 1000, "{:.2f}"),
    )
    for label, key, factor, form in rows:
        values = [run[key][-1] if key == "losses" else run[key] * factor for run in (ours, theirs)]
        print(f"{label:28}" + "".join(f"{form.format(value):>12}" for value in values))
    difference = max(abs(a - b) for a, b in zip(ours["losses"], theirs["losses"], strict=True))
    # Both sides round differently in the last bits, and training amplifies that a little.
    equal = difference < 0.02
    print(f"loss curves {'agree' if equal else 'DIFFER'}: at most {difference:.2g} apart in any epoch")
    return 0 if equal and ours["accuracy"] > 0.97 else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch", type=int, default=64, help="images per step")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compare", action="store_true", help="train on rxla and on PyTorch/XLA's CPU device")
    parser.add_argument("--json", action="store_true", help="print the result as JSON at the end")
    options = parser.parse_args()
    if options.compare:
        settings = ("epochs", "batch", "seed")
        return compare([f"--{name}={getattr(options, name)}" for name in settings])
    result = train(options.epochs, options.batch, options.seed)
    if options.json:
        print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
