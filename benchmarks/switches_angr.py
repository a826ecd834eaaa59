"""The switches that angr's decompiler prints, in the format of `permnet switches --json`.

    ANGR_PYTHON benchmarks/switches_angr.py < asked.json > answers.json

Runs in an environment of its own (`pip install angr==9.2.213 "bitstring<5" pycparser==3.0`) and
imports nothing of permnet. `asked.json` maps each object file to the functions asked for.
"""

import json
import logging
import signal
import sys
import time

import angr
from angr.analyses.decompiler.structured_codegen.c import CStructuredCodeWalker

SECONDS = 60  # for one function


class Switches(CStructuredCodeWalker):
    """Collects the switches of a decompiled function as they are printed."""

    def __init__(self):
        self.found = []

    def handle_CSwitchCase(self, obj):
        blocks = [
            list(values) if isinstance(values, tuple) else [values] for values, _ in obj.cases
        ]
        if obj.default is not None:
            blocks.append(["default"])
        address = (obj.tags or {}).get("ins_addr")
        self.found.append({"address": address, "blocks": blocks, "status": "unproven"})
        return super().handle_CSwitchCase(obj)


def too_long(signum, frame):
    raise TimeoutError


def answered(project, graph, name):
    walker = Switches()
    # Again and again: an exception raised inside a callback of Python's own is swallowed.
    signal.setitimer(signal.ITIMER_REAL, SECONDS, 1)
    try:
        function = project.kb.functions.function(name=name)
        decompiled = project.analyses.Decompiler(function, cfg=graph.model)
        if decompiled.codegen is not None:
            walker.handle(decompiled.codegen.cfunc)
    except Exception as error:  # whatever it is, angr has no answer
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return walker.found


def main():
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, too_long)
    functions = []
    for path, names in json.load(sys.stdin).items():
        project = angr.Project(path, auto_load_libs=False)
        graph = project.analyses.CFGFast(normalize=True)
        for name in names:
            start = time.monotonic()
            switches = answered(project, graph, name)
            seconds = round(time.monotonic() - start, 3)
            functions.append({"file": path, "name": name, "seconds": seconds, "switches": switches})
    json.dump({"functions": functions}, sys.stdout)


if __name__ == "__main__":
    main()
