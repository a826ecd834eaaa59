"""Machine code for tests: a function `f` out of its instructions, and blocks to jump to."""

from permnet.binary import Function, assembled

BLOCKS = """
11: call a
    ret
12: call b
    ret
13: call c
    ret
14: call d
    ret
19: call e
    ret
"""
"""At 11 to 14 and 19, each with something to do."""


def function_of(code: str) -> Function:
    """The function with this body, in Intel syntax; its cold part may follow it."""
    return next(assembled(f".text\n.globl f\n.type f, @function\nf:\n{code}\n").functions())
