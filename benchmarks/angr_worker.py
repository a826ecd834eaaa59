"""angr on the functions of an ELF file; run by angr's own Python (see benchmarks/decompilers.py).

    PYTHON benchmarks/angr_worker.py FILE NAME …

Prints a JSON line per function: its name, C or null, and the seconds of CPU it took, its share of
the control-flow graph included.
"""

import json
import logging
import sys
import time

import angr


def main(path: str, *names: str) -> None:
    logging.disable(logging.CRITICAL)
    began = time.process_time()
    project = angr.Project(path, auto_load_libs=False)
    graph = project.analyses.CFGFast(normalize=True)
    shared = (time.process_time() - began) / len(names)
    for name in names:
        began = time.process_time()
        try:
            function = project.kb.functions.function(name=name)
            made = project.analyses.Decompiler(function, cfg=graph.model)
            text = made.codegen.text if made.codegen is not None else None
        except Exception as error:  # whatever goes wrong inside is its answer
            text = None
            print(f"{name}: {error!r}", file=sys.stderr)
        seconds = shared + time.process_time() - began
        print(json.dumps({"name": name, "c": text, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
