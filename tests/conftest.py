"""What all tests share."""

import os

import pytest
import torch
from hypothesis import settings

# Virtual machines may announce AMX and then fault on it: bf16 on a CPU is tested without.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# No deadlines: test machines are slow at times.
settings.register_profile("permnet", deadline=None)
settings.load_profile("permnet")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
