"""Sequence-to-sequence models that resolve references.

    permnet.resolve("a 1 b 2 c 3 <sep> 1 3 2").tokens   # a trained model's answer: a c b
    permnet.decompile(assembly)[0].c                    # C, and whether it was verified
    permnet.benchmark("PI20").split("test")             # 100,000 frozen examples
    permnet.score("PI20", predictions)                  # anyone's output on them
    permnet.load("PI1-4").model                         # a torch.nn.Module

Names are imported when they are first used, so that `import permnet` alone does not import torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from permnet.answers import resolve
    from permnet.checkpoint import load
    from permnet.decompiling.pipeline import decompile
    from permnet.models import DirectResolver, IndirectResolver, PermNetD, PermNetI
    from permnet.scoring import score
    from permnet.tasks.benchmarks import benchmark

__version__ = "0.1.0"

__all__ = [
    "DirectResolver",
    "IndirectResolver",
    "PermNetD",
    "PermNetI",
    "benchmark",
    "decompile",
    "load",
    "resolve",
    "score",
]

_HOMES = {
    "DirectResolver": "permnet.models",
    "IndirectResolver": "permnet.models",
    "PermNetD": "permnet.models",
    "PermNetI": "permnet.models",
    "benchmark": "permnet.tasks.benchmarks",
    "decompile": "permnet.decompiling.pipeline",
    "load": "permnet.checkpoint",
    "resolve": "permnet.answers",
    "score": "permnet.scoring",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'permnet' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
