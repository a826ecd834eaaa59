"""Files that commands write."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from permnet.errors import PermnetError


@contextmanager
def replacing(out: Path, force: bool) -> Iterator[IO[bytes]]:
    """A file that takes its name only when it is complete; trouble is found before any work."""
    partial = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        if out.is_symlink():
            raise PermnetError(f"cannot write {out}: it is a symbolic link")
        if out.exists() and not out.is_file():
            raise PermnetError(f"cannot write {out}: it is not a regular file")
        if out.exists() and not force:
            raise PermnetError(f"{out} exists: choose another name or add --force")
        with ExitStack() as stack:
            file = partial.open("xb")
            stack.callback(partial.unlink, missing_ok=True)
            with file:
                yield file
            partial.replace(out)
    except OSError as error:
        raise PermnetError(f"cannot write {out}: {error.strerror or error}") from error
