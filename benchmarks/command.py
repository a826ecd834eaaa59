"""A benchmark as a command: what its user got wrong is one line and exit code 2."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from permnet.errors import PermnetError


def run(main: Callable[[], int | None]) -> None:
    try:
        code = main()
    except (PermnetError, OSError) as error:
        print(f"{Path(sys.argv[0]).stem}: {error}", file=sys.stderr)
        code = 2
    sys.exit(code)


def positive(text: str) -> int:
    """An argument of which there is at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number above 0 is expected, not {text!r}")
    return int(text)


def needs_gpu() -> None:
    """To be said before any work, and not by whatever fails first."""
    import torch  # which most of them do without

    if not torch.cuda.is_available():
        raise PermnetError("no CUDA device is here: this benchmark is of a GPU")
