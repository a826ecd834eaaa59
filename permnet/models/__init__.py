"""The models of the paper and of its related work, by name."""

from permnet.models.base import Seq2Seq
from permnet.models.permnetd import PermNetD
from permnet.models.permneti import PermNetI
from permnet.models.resolver import DirectResolver, IndirectResolver

MODELS: dict[str, type[Seq2Seq]] = {
    "permnetd": PermNetD,
    "permneti": PermNetI,
}

__all__ = ["MODELS", "DirectResolver", "IndirectResolver", "PermNetD", "PermNetI", "Seq2Seq"]
