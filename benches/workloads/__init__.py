"""The programs that are measured.

A workload is a function that makes the arguments, as NumPy arrays, and a program of JAX; its name says
what it is, its group what it stands for. Programs name the types of all they make, since 64-bit types
are on.
"""

import dataclasses
import importlib
from collections.abc import Callable

import numpy as np

GROUPS = [
    "dispatch",
    "small",
    "loops",
    "elementwise",
    "normalisation",
    "reductions",
    "movement",
    "rng",
    "dot",
    "conv",
    "sort",
    "linalg",
    "models",
]


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    group: str
    make: Callable[[], tuple[Callable, list]]
    # How far results may differ, relative to the largest of the reference; None: by type.
    tolerance: float | None = None


_registered: dict[str, Workload] = {}


def workload(group: str, tolerance: float | None = None, name: str | None = None):
    """Registers a function that returns a program and its arguments."""

    def register(make):
        title = name or make.__name__
        if title in _registered:
            raise ValueError(f"two workloads are called {title}")
        _registered[title] = Workload(title, group, make, tolerance)
        return make

    return register


def all_workloads() -> list[Workload]:
    for module in ["basics", "loops", "array", "heavy", "models", "transformers"]:
        importlib.import_module(f"workloads.{module}")
    return sorted(_registered.values(), key=lambda w: GROUPS.index(w.group))


def normal(*shape, dtype=np.float32, seed=0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


def uniform(*shape, low=0.0, high=1.0, dtype=np.float32, seed=0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).uniform(low, high, shape).astype(dtype)


def integers(*shape, low=0, high=1000, dtype=np.int32, seed=0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).integers(low, high, shape).astype(dtype)
