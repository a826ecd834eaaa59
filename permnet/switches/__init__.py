"""Switches in machine code: found, claimed, and proven.

In the order in which data pass through them: `graph` cuts a function into basic blocks, `rules`
walks from a first test of a value through all that follow and says which values go where, with
`machine`, which runs code on `terms`, and `pieces`, which sees terms as functions of that value;
`place` and `default` fill in the rest of the `claim`. `proof` then checks the claim from the
machine code alone, on a `cpu` of its own, and `emulate` asks an emulator. `find` does this for a
function, `scan` for files, and `scripts` writes what was found for Ghidra and IDA.
"""
