"""See references being resolved by the shipped models, and where each answer was taken from.

Run: python examples/demo.py ["a b c <sep> 2 0 1" …]
"""

import sys

from rich.console import Console

from permnet import resolve

QUESTIONS = {
    "indices into an array": "a b c <sep> 2 0 1",
    "keys and their data": "a 2 b 1 c 3 <sep> 1 3 2",
    "tokens never seen in training": "zebra x7 lion q2 owl 19 <sep> 19 x7 q2",
    "ten references": "d 8 b 9 g 6 j 10 e 5 i 4 a 3 c 2 f 1 h 7 <sep> 2 10 4 3 1 8 5 9 6 7",
}


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
    for title, text in {t: t for t in texts}.items() if texts else QUESTIONS.items():
        show(title, text, console)


if __name__ == "__main__":
    main(*sys.argv[1:])
