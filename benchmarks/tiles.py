"""Block shapes of the relations' kernels on a GPU: python -m benchmarks.tiles"""

from functools import partial

import torch

from benchmarks.speed import milliseconds
from permnet.kernels import triton_relations as kernels


def main() -> None:
    for name, batch, length in (("PI10", 8192, 40), ("PI40", 1024, 128), ("PI100", 512, 304)):
        gram = torch.randn(batch, length, length, device="cuda")
        weights = torch.softmax(torch.randn(batch, length, 4, device="cuda"), -1).unbind(-1)
        mask = torch.ones(batch, length, dtype=torch.bool, device="cuda")
        inputs = (gram, *(w.contiguous() for w in weights[:3]), mask)
        grads = torch.randn_like(gram), torch.randn_like(gram)
        cols = 1 << (length - 1).bit_length()
        floor = gram.numel() * 4 / 4.2e12 * 1e3
        for words in (512, 1024, 2048, 4096, 8192):
            for warps in (1, 2, 4, 8):
                rows = max(1, min(cols, words // cols))
                tile = {"ROWS": rows, "COLS": cols, "num_warps": warps}
                kernels._tile = lambda _, tile=tile: tile
                forth = milliseconds(partial(kernels.forward, inputs, True), seconds=0.05)
                back = milliseconds(partial(kernels.backward, inputs, *grads, True), seconds=0.05)
                print(
                    f"{name} rows {rows:3} warps {warps}  forward {forth:.3f} ({3 * floor:.3f})"
                    f"  backward {back:.3f} ({4 * floor:.3f})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
