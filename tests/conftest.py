"""What all tests share."""

import os
import shutil

import pytest
import torch
from hypothesis import settings

# Virtual machines may announce AMX and then fault on it: bf16 on a CPU is tested without.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# No deadlines: test machines are slow at times. The same examples every time, so that a change is
# judged by what it changes; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("permnet", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "permnet"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


@pytest.fixture(params=["Linux", "another system"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Linux's ways are missing, limits are set and a program's end is noticed in others."""
    if request.param != "Linux":
        which = shutil.which
        monkeypatch.setattr(
            shutil, "which", lambda name: None if name == "prlimit" else which(name)
        )
        monkeypatch.delattr(os, "pidfd_open", raising=False)
