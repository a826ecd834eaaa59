"""`permnet decompile`: the C of functions given as assembly, C, objects or programs."""

import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from permnet.commands.files import replacing
from permnet.errors import PermnetError, unknown
from permnet.tasks.switch.compiler import FLAGS

if TYPE_CHECKING:
    from permnet.decompiling.text import Function
    from permnet.decompiling.toolchain import Compiler


MOST_REFUSED = 50
"""Functions of which it is said on standard error why they are refused."""


def decompile(
    files: Positional[Annotated[tuple[str, ...], arg(metavar="[FILE ...]")]] = (),
    /,
    function: Annotated[str | None, arg(aliases=("-f",))] = None,
    model: str | None = None,
    n_best: int = 10,
    map: bool = False,
    diff: bool = False,
    json: bool = False,
    out: Annotated[Path | None, arg(aliases=("-o",))] = None,
    force: bool = False,
    cc: str = "gcc",
    cflags: str = shlex.join(FLAGS),
    proto: str = "",
    guess: bool = False,
) -> int:
    """Write the C of functions around a switch, checked by compiling it again.

    Files are assembly (Intel or AT&T syntax), C, which is compiled first, objects and ELF programs.
    A function is marked verified where its C, compiled with the flags below, gives the same
    assembly, names of labels aside, else unverified. Nothing is ever run.

    The model was made for x86-64 functions that gcc compiled with -O0 -fno-jump-tables, with
    integers and one switch. What holds other instructions or jumps is refused with the reason; the
    exit code is then 1. Anything else is answered, and unverified where the answer is wrong.

    For example:

        permnet decompile function.s
        permnet decompile --map -f parse module.o
        permnet decompile --diff --guess function.s
        gcc -O0 -S -masm=intel -fno-jump-tables -o - x.c | permnet decompile --json
        permnet decompile --proto "int get(int); void put(long);" -o out.c *.s
        permnet decompile --cflags="-O0 -fcf-protection -fno-jump-tables" module.o

    Args:
        files: What to decompile; none, or -, for standard input.
        function: Only the functions of this name.
        model: A shipped decompiler or a checkpoint's folder; the shipped ones unless given.
        n_best: How many candidates of each model are tried until one verifies.
        map: Show the line of assembly from which each label and statement came.
        diff: Show where an unverified answer's assembly differs.
        json: Print a JSON object with the list of functions.
        out: The file to write instead of standard output.
        force: Overwrite the file if it exists.
        cc: The compiler to verify with.
        cflags: Its flags, those with which the functions were compiled, after an equals sign.
        proto: Prototypes of functions that are called, beside those of the training data.
        guess: Declare the others that are called as their calls look, and say so.
    """
    if not files and sys.stdin.isatty():
        raise PermnetError("nothing to decompile: give a file, or assembly on standard input")
    if json and diff:
        raise PermnetError("--diff is of the text: leave it out, or --json")
    if not cc.strip():
        raise PermnetError(f"--cc {cc!r} names no compiler: give one, such as gcc, or leave it out")
    from permnet.decompiling.callees import called, guessed
    from permnet.decompiling.difference import difference
    from permnet.decompiling.pipeline import Pipeline
    from permnet.decompiling.show import as_json, as_text
    from permnet.decompiling.toolchain import Compiler, prototypes

    compiler = Compiler(cc, _flags(cflags)).declaring(proto)
    with ExitStack() as stack:
        file = stack.enter_context(replacing(out, force)) if out else None
        # A script that asked for JSON gets some, whatever a file is; other files are never begun.
        raising = len(files) < 2 and (not json or out is not None)
        functions, bad_files = _functions(files or ("-",), function, compiler, raising)
        guesses = guessed(functions, prototypes(proto)) if guess else {}
        compiler = compiler.declaring(" ".join(guesses.values()))
        pipeline = Pipeline.load(model, n_best, compiler)
        if pipeline.trouble:
            _warn(f"nothing is verified: {pipeline.trouble}")
        answers = pipeline.each(functions)
        answered = [(f, a) for f, a in zip(functions, answers, strict=True) if not a.error]
        if used := guesses.keys() & {called(line) for f, _ in answered for line in f.tokens}:
            told = (text for name, text in guesses.items() if name in used)
            _warn(f"declared as their calls look: {' '.join(told)}")
        compared = diff and not pipeline.trouble
        texts = [
            as_text(f, a, map, difference(f, a, compiler) if compared and not a.verified else ())
            for f, a in answered
        ]
        text = as_json(answers) if json else "\n".join(texts)
        if file:
            file.write(text.encode())
        elif json or not sys.stdout.isatty():
            print(text, end="")
        else:
            _print_coloured(text)
    refused = [answer for answer in answers if answer.error]
    for answer in refused[:MOST_REFUSED]:
        _warn(f"{answer.file}: {answer.name}: {answer.error}")
    if len(refused) > MOST_REFUSED:
        _warn(f"{len(refused) - MOST_REFUSED} more functions are refused: --json has all reasons")
    return 2 if bad_files else 1 if refused else 0


def _flags(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise PermnetError(f"--cflags {text!r}: {error}") from error


def _functions(
    files: tuple[str, ...], name: str | None, compiler: "Compiler", raising: bool
) -> "tuple[list[Function], int]":
    """The functions of all files, and how many files could not be read, each with a message."""
    from permnet.decompiling.source import read

    found: list[Function] = []
    bad = 0
    for path in files:
        try:
            found += read(path, compiler)
        except PermnetError as error:
            if raising:
                raise
            _warn(str(error))
            bad += 1
    if name is not None:
        known = dict.fromkeys(function.name for function in found)
        if found and name not in known:
            raise unknown("function", name, known)
        found = [function for function in found if function.name == name]
    return found, bad


def _warn(message: str) -> None:
    from permnet.decompiling.show import printable

    print(f"permnet: {printable(message)}", file=sys.stderr)


def _print_coloured(text: str) -> None:
    from rich.console import Console
    from rich.syntax import Syntax

    code = Syntax(text, "c", theme="ansi_dark", background_color="default").highlight(text)
    code.highlight_regex(r"(?m)(?<=: )verified(?=, confidence [\d.]+ %$)", "not dim bold green")
    code.highlight_regex(
        r"(?m)(?<=: )unverified(?=, .*confidence [\d.]+ %$)", "not dim bold yellow"
    )
    Console().print(code, end="", soft_wrap=True)  # the rest of a comment in a new line would be C
