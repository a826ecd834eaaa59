"""What `permnet switches` needs of memory for a program of 500 MB.

    python -m benchmarks.switch_large [--megabytes 500] [--functions 20000] [--out FILE]

The program is made here: functions with a switch each, evenly spread over so much code. Between
them are zeros that take no room on a disk.
"""

import argparse
import json
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.command import positive, run
from permnet.binary import assembled
from permnet.provenance import provenance

BASE = 0x400000  # where the code is loaded
START = 0x1000  # where it stands in the file
SYMBOL, SECTION = 24, 64  # bytes
CODE, SYMBOLS, STRINGS = 1, 2, 3  # kinds of sections
LOADED_CODE = 6  # loaded, and executed
FUNCTION = 0x12  # a function that others may use

TEXT = """
f:  cmp edi, 17
    je 1f
    jg 5f
    cmp edi, 3
    je 2f
    cmp edi, 15
    jne 9f
1:  call f
    ret
5:  cmp edi, 40
    je 3f
    cmp edi, 41
    jne 9f
2:  mov eax, 2
    ret
3:  mov eax, 3
    ret
9:  xor eax, eax
    ret
"""


def write_program(path: Path, size: int, count: int) -> None:
    """An ELF file with a section of code of that size, and as many functions in it."""
    (function,) = assembled(TEXT).functions()
    code = bytes(function.code)
    step = size // count
    names = b"\0.text\0.symtab\0.strtab\0"
    strings = b"\0" + b"".join(f"f{i}\0".encode() for i in range(count))
    with path.open("wb") as file:
        symbols = [bytes(SYMBOL)]
        place = 1
        for i in range(count):
            file.seek(START + i * step)
            file.write(code)
            symbols.append(
                struct.pack("<IBBHQQ", place, FUNCTION, 0, 1, BASE + START + i * step, len(code))
            )
            place += len(f"f{i}\0")
        table = START + size
        file.seek(table)
        file.write(b"".join(symbols) + strings + names)
        sections = [
            (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
            (1, CODE, LOADED_CODE, BASE + START, START, size, 0, 0, 16, 0),
            (7, SYMBOLS, 0, 0, table, SYMBOL * len(symbols), 3, 1, 8, SYMBOL),
            (
                15,
                STRINGS,
                0,
                0,
                table + SYMBOL * len(symbols),
                len(strings) + len(names),
                0,
                0,
                1,
                0,
            ),
        ]
        headers = file.tell()
        file.write(b"".join(struct.pack("<IIQQQQIIQQ", *section) for section in sections))
        file.seek(0)
        file.write(b"\x7fELF\x02\x01\x01" + bytes(9))
        about = (2, 62, 1, BASE + START, 0, headers, 0, 64, 0, 0, SECTION, len(sections), 0)
        file.write(struct.pack("<HHIQQQIHHHHHH", *about))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=positive, default=500)
    parser.add_argument("--functions", type=positive, default=20_000)
    parser.add_argument("--jobs", type=positive, default=2)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large")
        write_program(path, args.megabytes * 1_000_000, args.functions)
        size = path.stat().st_size
        command = [sys.executable, "-m", "permnet", "switches", "--json", "--jobs", str(args.jobs)]
        answers = Path(folder, "answers.json")
        start = time.monotonic()
        with answers.open("w") as file:
            done = subprocess.run(
                [*command, str(path)], stdout=file, stderr=subprocess.PIPE, text=True, check=False
            )
        seconds = time.monotonic() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = json.loads(answers.read_text())["functions"]
    status = Counter(switch["status"] for function in found for switch in function["switches"])
    shown = {
        "bytes": size,
        "functions": args.functions,
        "jobs": args.jobs,
        "exit_code": done.returncode,
        "said": done.stderr.splitlines(),
        "status": dict(status),
        "seconds": round(seconds, 1),
        "largest_process_mib": used.ru_maxrss // 1024,
    }
    print(json.dumps(shown, indent=1))
    if args.out:
        import torch

        shown["provenance"] = provenance(torch.device("cpu"))
        args.out.write_text(json.dumps(shown, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
