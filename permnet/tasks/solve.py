"""The exact answer to a question, found the obvious way: what models are measured against."""

from collections.abc import Collection, Sequence

from permnet.tasks.permutation import Kind, parse


def solve(kind: Kind, tokens: Sequence[str], noise_tokens: Collection[str] = ()) -> list[str]:
    """The tokens asked for, without `<sos>` and `<eos>`.

    The three listings of the paper:

    >>> def show(kind, text):
    ...     print(*solve(kind, text.split()))
    >>> show("direct", "<sos> d i j h e g f b c a <sep> 3 2 7 6 5 1 4 8 0 9 <eos>")
    h j b f g i e c d a
    >>> show("indirect", "d 8 b 9 g 6 j 10 e 5 i 4 a 3 c 2 f 1 h 7 <sep> 2 10 4 3 1 8 5 9 6 7")
    c j i a f d e b g h
    >>> show("dict", "j 10 b 7 c 3 i 2 d 1 a 8 f 9 g 5 e 6 h 4 <sep> 7 3 9 5 8 6 9 1 2 6")
    b c f g a e f d i e
    """
    question = parse(kind, tokens, noise_tokens)
    if kind == "direct":
        return [question.data[int(index)] for index in question.queries]  # Eq. 1
    datum_of = dict(zip(question.keys, question.data, strict=True))
    return [datum_of[query] for query in question.queries]  # Eq. 2
