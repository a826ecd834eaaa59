"""`permnet resolve`: answers to questions given as arguments or lines."""

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from json import dumps
from typing import IO, TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from permnet.errors import PermnetError

if TYPE_CHECKING:
    from permnet.answers import Answer, Resolver, Shipped

BLOCK = 1024  # lines answered at once
LONGEST_LINE = 1_000_000  # bytes


def resolve(
    texts: Positional[Annotated[tuple[str, ...], arg(metavar="[TEXT ...]")]] = (),
    /,
    model: str | None = None,
    json: bool = False,
) -> int:
    """Answer questions with a trained model.

    A question is data, `<sep>` and what is asked for: indices that count from 0, or, where each
    datum is followed by its key, keys. Without a text, lines are read from standard input; each
    gives one line. A bad one among several gives an empty line and a message; the exit code is
    then 1.

    For example:

        permnet resolve "a 1 b 2 c 3 <sep> 1 3 2"
        permnet resolve --json "b a d c <sep> 2 0 1 3"
        permnet resolve --model runs/mine/best < questions.txt

    Args:
        texts: The questions; none to read lines from standard input.
        model: A shipped model or a checkpoint's folder, which then answers whatever it can read,
            with a warning if it was trained on nothing like it; unless given, the smallest shipped
            one that was trained on questions of that form.
        json: Print a JSON object for each: output, confidence and positions, or error.
    """
    if not texts and sys.stdin.isatty():
        raise PermnetError("nothing to resolve: give a text, or lines on standard input")
    from permnet.answers import Resolver, Shipped

    source = Shipped() if model is None else Resolver.load(model)
    if len(texts) == 1:
        answer = source.each(texts)[0]
        if isinstance(answer, PermnetError):
            raise answer
        _warn(source, texts[0])
        print(_show(answer, json))
        return 0
    lines: Iterator[str | PermnetError] = iter(texts or _lines(sys.stdin.buffer))
    number = failed = 0
    warned = False
    while block := list(islice(lines, BLOCK)):
        answers = iter(source.each([line for line in block if isinstance(line, str)]))
        for line in block:
            answer = next(answers) if isinstance(line, str) else line
            number += 1
            place = f"{'text' if texts else 'line'} {number}: "
            if isinstance(answer, PermnetError):
                failed += 1
                print(f"permnet: error: {place}{answer}", file=sys.stderr)
            elif not warned and isinstance(line, str):
                warned = _warn(source, line, place)
            print(_show(answer, json))
    return 1 if failed else 0


def _warn(source: "Resolver | Shipped", text: str, place: str = "") -> bool:
    """Says so if a model that was named was trained on nothing like the text."""
    from permnet.answers import Resolver, unlike

    reason = unlike(text, source.checkpoint) if isinstance(source, Resolver) else None
    if reason:
        told = f"the model was {reason}: answers to the like may be wrong"
        print(f"permnet: warning: {place}{told}", file=sys.stderr)
    return reason is not None


def _show(answer: "Answer | PermnetError", json: bool) -> str:
    if isinstance(answer, PermnetError):
        return dumps({"error": str(answer)}) if json else ""
    if not json:
        return " ".join(answer.tokens)
    return dumps(
        {
            "output": answer.tokens,
            "confidence": answer.confidence,
            "positions": answer.positions,
        },
        allow_nan=False,
    )


def _lines(stream: IO[bytes]) -> Iterable[str | PermnetError]:
    """The lines of a stream; what cannot be read as one is passed on as the error it is."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            while line and not line.endswith(b"\n"):
                line = stream.readline(LONGEST_LINE)
            yield PermnetError(f"longer than {LONGEST_LINE} bytes")
            continue
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            yield PermnetError(f"not UTF-8: {error.reason} at byte {error.start}")
