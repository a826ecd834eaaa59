"""The benchmark of block shapes calls the kernels as they are."""

import importlib.util
import os
import subprocess
import sys

import pytest

INTERPRETED = """
import torch
from benchmarks import tiles
shapes = []
tiles.report = lambda what, call, moved: shapes.append(call())
tiles.relations("small", 1, 5, "cpu")
for dtype in (torch.float32, torch.bfloat16):
    tiles.attention("small", 1, 5, 16, dtype, ["attend", "back"], "cpu")
assert len(shapes) == 40 + 2 * (8 + 11)
"""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_every_shape_is_tried() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
