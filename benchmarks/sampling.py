"""Seconds to sample 100,000 examples of each benchmark on one core.

Run from the checkout: `python -m benchmarks.sampling`.
"""

import time

import numpy as np

from permnet.tasks.benchmarks import BENCHMARKS, SPLIT_SIZE


def main() -> None:
    for bench in BENCHMARKS:
        random = np.random.RandomState(0)
        start = time.process_time()
        bench.task.sample(SPLIT_SIZE, random)
        print(f"{bench.name:<12} {time.process_time() - start:6.2f} s")


if __name__ == "__main__":
    main()
