"""Assembly text as an object, by GNU `as`: what is looked at is then always machine code."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from permnet.binary.binary import Binary
from permnet.errors import PermnetError
from permnet.limits import run_limited

LONGEST_TEXT = 64 << 20

# They read other files, or write directives that a look at the text does not show.
_REFUSED = re.compile(r"\.(incbin|include|macro|altmacro|irpc?|rept?)\b", re.IGNORECASE)
_STRING = re.compile(
    r'^[ \t]*\.(?:string|asciz|ascii)[ \t]+"(?:\\.|[^"\\\n])*"[ \t]*$', re.MULTILINE
)
_PREPROCESSOR = re.compile(
    r"^[ \t]*#[ \t]*(?:if|ifn?def|elif|else|endif|define|undef|include|line|error)\b.*", re.M
)


def check_preprocessed(text: str) -> None:
    """Refuses a `.S` file for the C preprocessor; in a `.s` file its directives are comments."""
    if directive := _PREPROCESSOR.search(text):
        raise PermnetError(
            f"it is not preprocessed, {directive[0].strip()[:80]!r}: give what `gcc -E` makes of "
            "it, as .s"
        )


def assembled(text: str) -> Binary:
    """The object of assembly text, in Intel syntax unless it says otherwise.

    Directives that read files are refused.
    """
    assembler = shutil.which("as")
    if assembler is None:
        raise PermnetError("assembly text needs GNU as: apt install binutils")
    if len(text) > LONGEST_TEXT:
        raise PermnetError(f"{len(text)} characters of assembly, more than {LONGEST_TEXT}")
    refused = _REFUSED.search(text if "/*" in text else _STRING.sub("", text))
    if refused:
        raise PermnetError(f"the directive {refused[0]} is not allowed here: expand it first")
    with tempfile.TemporaryDirectory(prefix="permnet-") as folder:
        given, made = Path(folder, "in.s"), Path(folder, "out.o")
        given.write_text(text if text.endswith("\n") else text + "\n", "utf-8", "replace")
        command = [assembler, "--64", "-msyntax=intel", "-mnaked-reg", "-o", made.name, given.name]
        try:
            run_limited(command, folder=Path(folder))
            return Binary(memoryview(made.read_bytes()))
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise PermnetError("GNU as does not accept it: as FILE says where") from error
