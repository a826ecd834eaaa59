"""Switches in machine code: found, claimed, and proven.

In the order in which data pass through them: `graph` cuts a function into basic blocks, `regions`
walks from a first test of a value through all that follow, with `machine`, which runs code on
`terms`, and `pieces`, which sees terms as functions of that value; `rules` says what that means as
a `claim`, with `place` and `default`. `proof` then checks the claim from the
machine code alone, on a `cpu` of its own, and `emulate` asks an emulator. `find` does this for a
function, `scan` for files, and `scripts` writes what was found for Ghidra and IDA.
"""
