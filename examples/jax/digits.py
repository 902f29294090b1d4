"""Trains a small convolutional classifier on scikit-learn's handwritten digits.

Run alone it trains on whatever JAX picks as its default backend. With ``--compare`` it trains
twice, in a process each, on rxla and on JAX's own XLA:CPU, and prints both side by side.

The data set (1,797 images of 8x8 pixels in 10 classes) ships inside the scikit-learn package.
"""

import argparse
import json
import os
import subprocess
import sys
import time


def train(epochs: int, batch: int, seed: int) -> dict:
    """One training run; returns losses, accuracy and times in seconds."""
    import classifier
    import jax
    import jax.numpy as jnp
    import numpy as np

    x_train, x_test, y_train, y_test = classifier.images(seed)
    model, params, state, step = classifier.untrained(seed, x_train[:1])

    @jax.jit
    def accuracy(params, x, y):
        return (model.apply(params, x).argmax(-1) == y).mean()

    device = jax.devices()[0]
    print(f"training on {device.platform} ({device.device_kind}), jax {jax.__version__}", flush=True)

    start = time.perf_counter()
    compiled = step.lower(params, state, x_train[:batch], y_train[:batch]).compile()
    compile_time = time.perf_counter() - start

    order = np.random.default_rng(seed)
    losses, step_times = [], []
    for epoch in range(epochs):
        epoch_losses = []
        for rows in classifier.batches(order, len(x_train), batch):
            begun = time.perf_counter()
            params, state, loss = compiled(params, state, x_train[rows], y_train[rows])
            epoch_losses.append(float(loss))
            step_times.append(time.perf_counter() - begun)
        losses.append(float(np.mean(epoch_losses)))
        print(f"  epoch {epoch + 1:2}/{epochs}  loss {losses[-1]:.4f}", flush=True)
    test_accuracy = float(accuracy(params, jnp.asarray(x_test), jnp.asarray(y_test)))
    print(f"  test accuracy {test_accuracy:.2%}", flush=True)
    return {
        "platform": device.platform,
        "losses": losses,
        "accuracy": test_accuracy,
        "compile_seconds": compile_time,
        "step_seconds": float(np.median(step_times)),
    }


def compare(arguments: list[str]) -> int:
    """Trains on rxla and on XLA:CPU and prints a table; returns a process exit code."""
    results = {}
    for name, platform in (("rxla", "rxla"), ("XLA:CPU", "cpu")):
        environment = dict(os.environ, JAX_PLATFORMS=platform)
        environment.pop("RXLA_AS_CPU", None)
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
    print(f"\n{'':24}{'rxla':>12}{'XLA:CPU':>12}")
    rows = (
        ("test accuracy", "accuracy", "{:.2%}"),
        ("last epoch's loss", None, "{:.4f}"),
        ("compile time (s)", "compile_seconds", "{:.3f}"),
        ("time per step (ms)", "step_seconds", "{:.2f}"),
    )
    for label, key, form in rows:
        values = [r["losses"][-1] if key is None else r[key] for r in (ours, theirs)]
        if key == "step_seconds":
            values = [1000 * value for value in values]
        print(f"{label:24}" + "".join(f"{form.format(value):>12}" for value in values))
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
    parser.add_argument("--compare", action="store_true", help="train on rxla and on XLA:CPU")
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
