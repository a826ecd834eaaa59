"""Machine code for tests: a function `f` out of its instructions."""

from permnet.binary import Function, assembled


def function_of(code: str) -> Function:
    """The function with this body, in Intel syntax; its cold part may follow it."""
    return next(assembled(f".text\n.globl f\n.type f, @function\nf:\n{code}\n").functions())
