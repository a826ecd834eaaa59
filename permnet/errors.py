"""Errors that a user caused and can mend: the command line prints them as one line, exit code 2."""

import difflib
from collections.abc import Iterable


class PermnetError(ValueError):
    """Bad input; the message names the value, the limit and the fix."""


def unknown(
    kind: str, name: str, known: Iterable[str], unlisted: Iterable[str] = ()
) -> PermnetError:
    """The error for a name that is not among those known, with the nearest ones.

    Names that are too many to list may still be near.

    >>> print(unknown("benchmark", "PI21", ["PI10", "PI20", "PD10"]))
    unknown benchmark 'PI21': did you mean PI20, PI10? (known: PI10, PI20, PD10)
    """
    names = list(known)
    folded = {n.lower(): n for n in (*names, *unlisted)}
    near = [folded[n] for n in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.6)]
    hint = f": did you mean {', '.join(near)}?" if near else ""
    return PermnetError(f"unknown {kind} {name!r}{hint} (known: {', '.join(names)})")
