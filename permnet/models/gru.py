"""A plain encoder–decoder of GRUs (Cho et al. 2014): the baseline *GRU* of the paper's section 4.

    In:  <sos> d i j h <sep> 3 2 0 1 <eos>
    Out: <sos> h j d i <eos>

All that the writer knows of the input is the one vector with which it starts. Axis letters:
models/base.py.
"""

from torch import Tensor, nn

from permnet.models.base import Seq2Seq, Step, without_pad
from permnet.models.recurrent import GRU, BiGRU
from permnet.vocab import PAD


class PlainGRU(Seq2Seq):
    """The memory is v_last (B, 2H), the reader's last states; the state is the writer's, alike."""

    def __init__(self, vocab_size: int, embedding: int = 128, hidden: int = 32) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.embedding = nn.Embedding(vocab_size, embedding)
        self.encoder = BiGRU(embedding, hidden)
        self.decoder = GRU(embedding, 2 * hidden)
        self.vocabulary = nn.Linear(2 * hidden, vocab_size)

    def encode(self, inputs: Tensor) -> Tensor:
        _, v_last = self.encoder(inputs, self.embedding, inputs != PAD)
        return v_last

    def start(self, memory: Tensor) -> Tensor:
        return memory

    def step(self, memory: Tensor, state: Tensor, previous: Tensor) -> Step:
        v_hidd = self.decoder.step(self.embedding(previous), state)
        return Step(without_pad(self.vocabulary(v_hidd)), v_hidd)

    def forward(self, inputs: Tensor, previous: Tensor, *, repeats: bool = True) -> Tensor:
        v_hidd = self.decoder.read(previous, self.embedding, self.encode(inputs))
        return without_pad(self.vocabulary(v_hidd))
