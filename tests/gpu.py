"""The tests that need a GPU, with a dated record of how they went: python -m tests.gpu"""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

from permnet.provenance import provenance

RECORD = Path("results/gpu-test.json")


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
    counts = {name: tally.counts[name] for name in ("passed", "failed", "skipped")}
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**kept, **counts, "failures": tally.failures}, indent=1)
    file.write_text(text + "\n")
    print(f"{file}: {', '.join(f'{count} {name}' for name, count in counts.items())}")
    return code


def main() -> int:
    if not torch.cuda.is_available():
        print(f"no CUDA device is here: nothing was run, {RECORD} is as it was", file=sys.stderr)
        return 2
    return record(["-m", "gpu"], torch.device("cuda"), RECORD)


if __name__ == "__main__":
    sys.exit(main())
