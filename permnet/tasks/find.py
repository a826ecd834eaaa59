"""Any benchmark by its name: a permutation problem, or a switch set with the folder of its data."""

from pathlib import Path

from permnet.errors import PermnetError
from permnet.tasks.benchmarks import Benchmark, benchmark
from permnet.tasks.switch.benchmark import SwitchBenchmark, is_switch, switch_benchmark


def find(name: str, folder: Path | None = None) -> Benchmark | SwitchBenchmark:
    """`folder` holds what `permnet data NAME --generate DIR` made.

    >>> print(find("PI20"), find("switch-6-raw"))
    PI20@1 switch-6-raw
    """
    if is_switch(name):
        return switch_benchmark(name, folder)
    if folder is not None:
        raise PermnetError(f"a folder of data is for the switch sets, {name} needs none")
    return benchmark(name)
