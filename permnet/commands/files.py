"""Files that commands write."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from permnet.errors import PermnetError


@contextmanager
def replacing(out: Path, force: bool) -> Iterator[IO[bytes]]:
    """A file that takes its name only when it is complete; trouble is found before any work.

    Where another file has taken the name by then, and may not be replaced, both are kept.
    """
    try:
        if out.is_symlink():
            raise PermnetError(f"cannot write {out}: it is a symbolic link")
        if out.exists() and not out.is_file():
            raise PermnetError(f"cannot write {out}: it is not a regular file")
        if out.exists() and not force:
            raise PermnetError(f"{out} exists: choose another name or add --force")
        partial = out.with_name(f".{out.name}.{os.getpid()}.part")
        with ExitStack() as stack:
            file = partial.open("xb")
            stack.callback(partial.unlink, missing_ok=True)
            with file:
                yield file
            if not force:
                try:
                    out.touch(exist_ok=False)  # an empty file of our own, to be replaced
                except FileExistsError as error:
                    stack.pop_all()
                    raise PermnetError(
                        f"{out} has appeared in the meantime: the output is in {partial}"
                    ) from error
            partial.replace(out)
    except OSError as error:
        raise PermnetError(f"cannot write {out}: {error.strerror or error}") from error
