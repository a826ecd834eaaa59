"""How long `permnet switches` takes on programs as they are installed.

    python -m benchmarks.switch_speed [--folder /usr/bin] [--count 80] [--out FILE]

The programs are ELF files of the folder, chosen at random but the same for the same seed.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import torch

from benchmarks.command import positive, run
from permnet.binary import is_elf
from permnet.errors import PermnetError
from permnet.provenance import provenance


def programs(folder: Path, count: int, seed: int) -> list[Path]:
    found = [p for p in sorted(folder.iterdir()) if p.is_file() and not p.is_symlink()]
    found = [path for path in found if is_elf(path)]
    if len(found) < count:
        raise PermnetError(f"{folder} has {len(found)} programs, not {count}: lower --count")
    return sorted(Random(seed).sample(found, count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("/usr/bin"))
    parser.add_argument("--count", type=positive, default=80)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=positive, default=2)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    chosen = programs(args.folder, args.count, args.seed)
    command = [sys.executable, "-m", "permnet", "switches", "--json", "--jobs", str(args.jobs)]
    start = time.monotonic()
    done = subprocess.run(
        [*command, *map(str, chosen)], capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(done.stdout)["functions"]
    status = Counter(switch["status"] for function in found for switch in function["switches"])
    shown = {
        "programs": len(chosen),
        "bytes": sum(path.stat().st_size for path in chosen),
        "jobs": args.jobs,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "load_average": [round(load, 1) for load in os.getloadavg()],
        "exit_code": done.returncode,
        "said": done.stderr.splitlines(),
        "functions_with_switches": len(found),
        "status": dict(status),
        "largest_process_mib": used.ru_maxrss // 1024,
        "names": [path.name for path in chosen],
    }
    print(json.dumps(shown, indent=1))
    if args.out:
        shown["provenance"] = provenance(torch.device("cpu"))
        args.out.write_text(json.dumps(shown, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
