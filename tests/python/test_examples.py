"""The programs of `examples/jax/gallery` give XLA:CPU's numbers."""

import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../examples/jax"))

import compare
import gallery


@pytest.mark.parametrize("name", gallery.NAMES)
def test_numbers_are_those_of_xla(name):
    difference = compare.difference(compare.compute(name), compare.compute_apart(name, "cpu"))
    assert difference <= compare.tolerance(name)
