"""Block shapes of the kernels on a GPU, tried one by one.

python -m benchmarks.tiles [--kernels attend back relations] [--presets PI10 PI40 PI100]
"""

import argparse
from collections.abc import Callable
from functools import partial

import torch

from benchmarks.command import needs_gpu, run
from benchmarks.speed import milliseconds
from permnet.kernels import triton_attended, triton_relations

SIZES = {"PI100": (512, 304, 1024), "PI40": (1024, 128, 512), "PI10": (8192, 40, 64)}


def relations(name: str, batch: int, length: int, device: str = "cuda") -> None:
    gram = torch.randn(batch, length, length, device=device)
    weights = torch.softmax(torch.randn(batch, length, 4, device=device), -1).unbind(-1)
    mask = torch.ones(batch, length, dtype=torch.bool, device=device)
    ids = torch.zeros(batch, length, dtype=torch.long, device=device)
    inputs = (gram, *(w.contiguous() for w in weights[:3]), mask, ids)
    grads = torch.randn_like(gram), torch.randn_like(gram)
    cols = 1 << (length - 1).bit_length()
    for words in (512, 1024, 2048, 4096, 8192):
        for warps in (1, 2, 4, 8):
            rows = max(1, min(cols, words // cols))
            tile = {"ROWS": rows, "COLS": cols, "num_warps": warps}
            triton_relations._tile = lambda _, tile=tile: tile
            for way, passes, call in (
                ("forward", 3, partial(triton_relations.forward, inputs, True, False)),
                ("backward", 4, partial(triton_relations.backward, inputs, *grads, True, False)),
            ):
                report(f"{name} relations {way} {tile}", call, passes * gram.nbytes)


def attention(
    name: str,
    batch: int,
    length: int,
    width: int,
    dtype: torch.dtype,
    kernels: list[str],
    device: str = "cuda",
) -> None:
    """One step's read of M_e, by columns of a program, kibibytes in flight and warps."""
    m_e = torch.randn(batch, length, width, device=device).to(dtype)
    mask = torch.ones(batch, length, dtype=torch.bool, device=device)
    h, asking = (torch.randn(batch, width, device=device) for _ in range(2))
    bias, rows = torch.randn(batch, device=device), torch.randn(batch, length, device=device)
    scalar, weights, read = (
        torch.empty_like(bias),
        torch.empty_like(rows),
        torch.empty_like(m_e[:, 0]),
    )
    call = partial(triton_attended.attend, h, asking, bias, rows, mask, m_e, scalar, weights, read)
    shapes = (
        (256, 16, 4), (256, 16, 8), (256, 32, 8), (128, 16, 4), (512, 16, 4), (512, 32, 8),
        (1024, 32, 8), (1024, 64, 16),
    )  # fmt: skip
    for columns, kib, warps in shapes if "attend" in kernels else ():
        triton_attended.READ = columns, kib * 1024, warps
        report(f"{name} {dtype} attend {triton_attended.READ}", call, m_e.nbytes)
    back = partial(
        triton_attended.attend_backward,
        *(torch.randn_like(h), torch.randn_like(h)),
        *(m_e, weights, rows, asking, torch.empty_like(weights)),
        *(torch.empty_like(bias), torch.empty_like(bias), torch.zeros_like(h)),
    )
    back_shapes = (
        (32, 4, 8), (32, 4, 4), (32, 2, 8), (32, 2, 4), (32, 1, 8), (16, 8, 4), (16, 4, 8),
        (16, 4, 4), (16, 2, 4), (8, 4, 4), (64, 2, 8),
    )  # fmt: skip
    for kib, programs, warps in back_shapes if "back" in kernels else ():
        triton_attended.READ_BACK = kib * 1024, programs, warps
        report(f"{name} {dtype} back {triton_attended.READ_BACK}", back, m_e.nbytes)


def report(what: str, call: Callable[[], object], bytes_moved: int) -> None:
    took = milliseconds(call, seconds=0.02)
    print(f"{what}: {took:.3f} ms, {bytes_moved / took / 1e9:.2f} TB/s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kernels = ["attend", "back", "relations"]
    parser.add_argument("--kernels", nargs="+", default=kernels, choices=kernels)
    parser.add_argument("--presets", nargs="+", default=list(SIZES), choices=list(SIZES))
    args = parser.parse_args()
    needs_gpu()
    for name in args.presets:
        for dtype in (torch.float32, torch.bfloat16):
            attention(name, *SIZES[name], dtype, args.kernels)
    for name in args.presets if "relations" in args.kernels else ():
        batch, length, _ = SIZES[name]
        relations(name, batch, length)


if __name__ == "__main__":
    run(main)
