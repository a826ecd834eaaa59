"""The examples in the docstrings are true."""

import doctest
import importlib

import pytest

MODULES = [
    "decompiling.syntax",
    "decompiling.toolchain",
    "errors",
    "metrics",
    "tasks.benchmarks",
    "tasks.permutation",
    "tasks.solve",
    "tasks.switch.assembly",
    "tasks.switch.compiler",
    "tasks.switch.ctokens",
    "tasks.switch.dataset",
    "tasks.switch.skeleton",
    "vocab",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    failed, tried = doctest.testmod(importlib.import_module(f"permnet.{name}"))
    assert failed == 0
    assert tried > 0
