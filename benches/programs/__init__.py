"""Programs of libraries on JAX, a file for each kind, in one table: `PROGRAMS`."""

import importlib
import os

from jax import random

if "RXLA_AS_CPU" in os.environ:
    # An environment with its own packages need not have this one installed for JAX to find it.
    import jax_rxla

    jax_rxla.initialize()

PROGRAMS = {}


def program(*libraries: str, tolerance: float = 1e-3, traced: bool = True):
    """A function that gives what to run and its arguments. What is not traced as a whole calls JAX by itself."""

    def add(make):
        PROGRAMS[make.__name__] = {"make": make, "libraries": libraries, "tolerance": tolerance, "traced": traced}
        return make

    return add


KEY = random.PRNGKey(0)

for kind in ("inference", "games", "physics", "networks", "solvers"):
    importlib.import_module(f"programs.{kind}")
