"""Block shapes of the kernels on a GPU, tried one by one: python -m benchmarks.tiles"""

from collections.abc import Callable
from functools import partial

import torch

from benchmarks.speed import milliseconds
from permnet.kernels import triton_attended, triton_relations

SIZES = (("PI10", 8192, 40, 64), ("PI40", 1024, 128, 512), ("PI100", 512, 304, 1024))


def relations(name: str, batch: int, length: int) -> None:
    gram = torch.randn(batch, length, length, device="cuda")
    weights = torch.softmax(torch.randn(batch, length, 4, device="cuda"), -1).unbind(-1)
    mask = torch.ones(batch, length, dtype=torch.bool, device="cuda")
    inputs = (gram, *(w.contiguous() for w in weights[:3]), mask)
    grads = torch.randn_like(gram), torch.randn_like(gram)
    cols = 1 << (length - 1).bit_length()
    for words in (512, 1024, 2048, 4096, 8192):
        for warps in (1, 2, 4, 8):
            rows = max(1, min(cols, words // cols))
            tile = {"ROWS": rows, "COLS": cols, "num_warps": warps}
            triton_relations._tile = lambda _, tile=tile: tile
            for way, passes, call in (
                ("forward", 3, partial(triton_relations.forward, inputs, True)),
                ("backward", 4, partial(triton_relations.backward, inputs, *grads, True)),
            ):
                report(f"{name} relations {way} {tile}", call, passes * gram.nbytes)


def attention(name: str, batch: int, length: int, width: int, dtype: torch.dtype) -> None:
    """One step's read of M_e, by columns of a program, kibibytes in flight and warps."""
    m_e = torch.randn(batch, length, width, device="cuda").to(dtype)
    mask = torch.ones(batch, length, dtype=torch.bool, device="cuda")
    h, asking = (torch.randn(batch, width, device="cuda") for _ in range(2))
    bias, rows = torch.randn(batch, device="cuda"), torch.randn(batch, length, device="cuda")
    scalar, weights, read = (
        torch.empty_like(bias),
        torch.empty_like(rows),
        torch.empty_like(m_e[:, 0]),
    )
    call = partial(triton_attended.attend, h, asking, bias, rows, mask, m_e, scalar, weights, read)
    for columns, kib, warps in (
        (256, 16, 4), (256, 16, 8), (256, 32, 8), (128, 16, 4), (512, 16, 4), (512, 32, 8),
        (1024, 32, 8), (1024, 64, 16),
    ):  # fmt: skip
        triton_attended.READ = columns, kib * 1024, warps
        report(f"{name} {dtype} attend {triton_attended.READ}", call, m_e.nbytes)
    back = partial(
        triton_attended.attend_backward,
        torch.randn_like(read),
        *(m_e, weights, rows, asking, torch.empty_like(weights)),
        *(torch.empty_like(bias), torch.empty_like(bias), torch.zeros_like(h)),
    )
    for kib, programs in ((32, 4), (32, 2), (32, 1), (16, 4), (16, 2), (16, 1), (64, 2)):
        triton_attended.READ_BACK = kib * 1024, programs
        report(f"{name} {dtype} back {triton_attended.READ_BACK}", back, m_e.nbytes)


def report(what: str, call: Callable[[], object], bytes_moved: int) -> None:
    took = milliseconds(call, seconds=0.02)
    print(f"{what}: {took:.3f} ms, {bytes_moved / took / 1e9:.2f} TB/s", flush=True)


def main() -> None:
    for name, batch, length, width in reversed(SIZES):
        for dtype in (torch.float32, torch.bfloat16):
            attention(name, batch, length, width, dtype)
    for name, batch, length, _ in SIZES:
        relations(name, batch, length)


if __name__ == "__main__":
    main()
