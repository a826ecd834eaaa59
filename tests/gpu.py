"""The tests that need a GPU, with a dated record of how they went.

    python -m tests.gpu [--jobs 8] [--out results/gpu-test.json] [tests/test_kernels.py …]

Most of their time goes into compiling kernels on the CPU, so files of tests run side by side.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from permnet.provenance import provenance

RECORD = Path("results/gpu-test.json")
OUTCOMES = ("passed", "failed", "skipped")


class Tally:
    """Counts what pytest reports; a file that cannot be read is a failure."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: list[dict[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Setting up and clearing away count only when something is the matter.
        if report.when == "call" or report.outcome != "passed":
            self._count(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._count(report)

    def _count(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        self.counts[report.outcome] += 1
        if report.failed:
            self.failures.append({"test": report.nodeid, "reason": report.longreprtext})


def record(arguments: list[str], device: torch.device, file: Path) -> int:
    """Run pytest, write what came of it, and return its exit code."""
    tally, about = Tally(), provenance(device)
    code = int(pytest.main(arguments, plugins=[tally]))
    kept = {name: about[name] for name in ("date", "hardware", "versions", "source_sha256")}
    counts = {name: tally.counts[name] for name in OUTCOMES}
    _write({**kept, **counts, "failures": tally.failures}, file)
    return code


def side_by_side(files: Sequence[str], jobs: int, out: Path) -> int:
    """Each file of tests in a process of its own, their records joined to one."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        outs = [Path(folder, f"{number}.json") for number in range(len(files))]
        codes = list(pool.map(_alone, files, outs))
        told = [_told(*each) for each in zip(files, outs, codes, strict=True)]
    counts = {name: sum(one[name] for one in told) for name in OUTCOMES}
    failures = [failure for one in told for failure in one["failures"]]
    _write({**told[0], **counts, "failures": failures}, out)
    return int(any(codes))


def _alone(file: str, out: Path) -> int:
    return subprocess.run([sys.executable, "-m", "tests.gpu", file, "--out", str(out)]).returncode


def _told(file: str, out: Path, code: int) -> dict[str, Any]:
    """What a process left; one that was killed before it left anything is a failure."""
    if out.exists():
        return dict(json.loads(out.read_text()))
    lost = {"test": file, "reason": f"ended with {code} before any record"}
    return {"passed": 0, "failed": 1, "skipped": 0, "failures": [lost]}


def _write(told: dict[str, Any], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(told, indent=1) + "\n")
    print(f"{file}: {', '.join(f'{told[name]} {name}' for name in OUTCOMES)}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="all files with such tests unless given")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--out", type=Path, default=RECORD)
    args = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        print(f"no CUDA device is here: nothing was run, {args.out} is as it was", file=sys.stderr)
        return 2
    files = args.files or [
        str(file)
        for file in sorted(Path("tests").glob("test_*.py"))
        if "mark.gpu" in file.read_text()
    ]
    if len(files) == 1:
        return record(["-m", "gpu", *files], torch.device("cuda"), args.out)
    return side_by_side(files, args.jobs, args.out)


if __name__ == "__main__":
    sys.exit(main())
