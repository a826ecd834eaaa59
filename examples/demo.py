"""See the shipped models resolve references: a switch out of assembly, and small puzzles.

Each answer shows where it was taken from.

Run: python examples/demo.py ["a b c <sep> 2 0 1" …]
"""

import sys
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax

from permnet import resolve
from permnet.decompiling.pipeline import Pipeline, shipped_decompilers
from permnet.decompiling.show import as_text
from permnet.decompiling.text import functions

APPENDIX = Path(__file__).with_name("appendix.s")  # the paper's, with blocks of our own

QUESTIONS = {
    "indices into an array": "a b c <sep> 2 0 1",
    "keys and their data": "a 2 b 1 c 3 <sep> 1 3 2",
    "tokens never seen in training": "zebra x7 lion q2 owl 19 <sep> 19 x7 q2",
    "ten references": "d 8 b 9 g 6 j 10 e 5 i 4 a 3 c 2 f 1 h 7 <sep> 2 10 4 3 1 8 5 9 6 7",
}


def show_appendix(console: Console) -> None:
    """The C of the paper's example, and the line of assembly that each line came from."""
    found = functions(APPENDIX.read_text(), APPENDIX.name)
    answers = Pipeline.load().each(found)
    console.print(f"\n[bold]a switch out of assembly[/], {APPENDIX}", highlight=False)
    for function, answer in zip(found, answers, strict=True):
        text = as_text(function, answer, with_map=True)
        console.print(Syntax(text, "c", theme="ansi_dark", background_color="default"))


def show(title: str, text: str, console: Console) -> None:
    answer = resolve(text)
    tokens = text.split()
    console.print(f"\n[bold]{title}[/]\n  question  {text}", highlight=False)
    console.print(f"  answer    [green]{' '.join(answer.tokens)}[/]", highlight=False)
    sources = (
        f"{token} ← {tokens[at]}@{at}" if at is not None else f"{token} (generated)"
        for token, at in zip(answer.tokens, answer.positions, strict=True)
    )
    console.print(f"  taken     {'  '.join(sources)}", highlight=False)
    console.print(f"  least sure of a token: {100 * min(answer.confidence):.2f} %", highlight=False)


def main(*texts: str) -> None:
    console = Console(soft_wrap=True)
    if not texts and shipped_decompilers():
        show_appendix(console)
    for title, text in {t: t for t in texts}.items() if texts else QUESTIONS.items():
        show(title, text, console)


if __name__ == "__main__":
    main(*sys.argv[1:])
