"""The models of the paper and of its related work, by name."""

from permnet.models.attention import AttentionGRU
from permnet.models.base import Seq2Seq
from permnet.models.decompiler import CopyNet, Decompiler
from permnet.models.gru import PlainGRU
from permnet.models.permnetd import PermNetD
from permnet.models.permneti import PermNetI
from permnet.models.pointer import PointerGenerator, PointerNetwork
from permnet.models.resolver import DirectResolver, IndirectResolver
from permnet.models.transformer import ResolvingTransformer, Transformer

MODELS: dict[str, type[Seq2Seq]] = {
    "permnetd": PermNetD,
    "permneti": PermNetI,
    "gru": PlainGRU,
    "gru-attention": AttentionGRU,
    "copynet": CopyNet,
    "transformer": Transformer,
    "transformer-resolver": ResolvingTransformer,
    "pointer": PointerNetwork,
    "pointer-generator": PointerGenerator,
    "copy-decompiler": CopyNet,
    "decompiler": Decompiler,
}

__all__ = [
    "MODELS",
    "AttentionGRU",
    "CopyNet",
    "Decompiler",
    "DirectResolver",
    "IndirectResolver",
    "PermNetD",
    "PermNetI",
    "PlainGRU",
    "PointerGenerator",
    "PointerNetwork",
    "ResolvingTransformer",
    "Seq2Seq",
    "Transformer",
]
