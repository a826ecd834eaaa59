"""The command line: `permnet COMMAND …`. A user's error is one line and exit code 2."""

import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial, wraps

import tyro

from permnet import __version__
from permnet.commands.data import data
from permnet.commands.decompile import decompile
from permnet.commands.eval import evaluate
from permnet.commands.explore import explore
from permnet.commands.models import models
from permnet.commands.plot import plot
from permnet.commands.report import report
from permnet.commands.resolve import resolve
from permnet.commands.score import score
from permnet.commands.sweep import sweep
from permnet.commands.switches import switches
from permnet.commands.train import train
from permnet.ending import on_ending
from permnet.errors import PermnetError, unknown

COMMANDS: dict[str, Callable[..., int]] = {
    "data": data,
    "score": score,
    "resolve": resolve,
    "decompile": decompile,
    "eval": evaluate,
    "models": models,
    "explore": explore,
    "plot": plot,
    "train": train,
    "sweep": sweep,
    "report": report,
    "switches": switches,
}

HELP = """usage: permnet COMMAND …

Sequence-to-sequence models that resolve references.

{commands}

For example:

    permnet resolve "a 1 b 2 c 3 <sep> 1 3 2"
    permnet data PI20 --limit 3
    permnet models

Each command tells more: permnet resolve --help
The version: permnet --version"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_all()
    _print_anything()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except PermnetError as error:
        return _fail(str(error))
    except BrokenPipeError:  # the reader has left, as `head` does
        _discard_output()
        return 0
    except OSError as error:
        _discard_output()
        return _fail(str(error))
    except KeyboardInterrupt:
        return 130
    return code


def _run(arguments: list[str]) -> int:
    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help"):
        firsts = {
            name: (command.__doc__ or "").split("\n")[0] for name, command in COMMANDS.items()
        }
        print(HELP.format(commands="\n".join(f"    {n:10}{first}" for n, first in firsts.items())))
        return 0
    if name == "--version":
        print(f"permnet {__version__}")
        return 0
    if name not in COMMANDS:
        raise unknown("command", name, COMMANDS)
    command = _parsed(name, rest)
    with on_ending(_leave):
        return command()


def _leave(number: int) -> None:
    """Ends a command as an interrupt does: its unfinished files and its children go with it."""
    raise SystemExit(128 + number)


def _parsed(name: str, arguments: list[str]) -> Callable[[], int]:
    """The command with its arguments; bad ones are an error of one line, not the parser's box."""
    box = io.StringIO()
    try:
        with contextlib.redirect_stderr(box):
            return tyro.cli(
                _deferred(COMMANDS[name]),
                prog=f"permnet {name}",
                args=arguments,
                config=(tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone),
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        # Without a terminal the frame is drawn in other signs: drop its lines, keep the words.
        lines = [line.strip("│| ") for line in box.getvalue().splitlines()]
        words = [line for line in lines if line.strip("-─╭╮╰╯+ ") and not line.startswith("╭")]
        told = " ".join(words).partition("For full helptext")[0]
        raise PermnetError(f"{told.strip()} (see permnet {name} --help)") from None


def _deferred(function: Callable[..., int]) -> Callable[..., Callable[[], int]]:
    """The function's arguments parsed, its call left for later.

    The parser takes a ValueError, which PermnetError is, for a bad argument of its own.
    """

    @wraps(function)
    def parsed(*args: object, **options: object) -> Callable[[], int]:
        return partial(function, *args, **options)

    return parsed


def _open_all() -> None:
    """Whoever starts us may have closed them; Python has None for them then."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _print_anything() -> None:
    """Names in users' files may hold what the locale has no letters for: print `\\xf6` instead."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # standard error does so of itself
        sys.stdout.reconfigure(errors="backslashreplace")


def _fail(message: str) -> int:
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
    print(f"permnet: error: {shown}", file=sys.stderr)
    return 2


def _discard_output() -> None:
    """Python flushes once more when it exits: give it somewhere to flush to."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
