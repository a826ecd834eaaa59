"""Ours and the yardstick agree on a GPU, in full precision: logits, loss and gradients.

python -m benchmarks.agree
"""

import torch
from torch.nn import functional as F

from benchmarks.yardstick import straightforward
from permnet.batch import resident
from permnet.build import build
from permnet.experiments.presets import PRESETS
from permnet.tasks.benchmarks import benchmark


def main() -> None:
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    for name in ("PD10", "PI10", "PD40", "PI40", "PD100", "PI100"):
        run = PRESETS[f"perm{'netd' if name.startswith('PD') else 'neti'}/{name}"]
        split = benchmark(name).split("train", limit=100)
        data = resident(split.examples.inputs, split.examples.targets, split.vocab, "cuda")
        batch = data.rows(torch.arange(100, device="cuda"))
        torch.manual_seed(0)
        model = build(run.model, split.vocab, split.benchmark.task).cuda()
        other = straightforward(model).cuda()
        found = []
        for logits in (
            model(batch.inputs, batch.previous, repeats=False),
            model(batch.inputs, batch.previous),
            other(batch.inputs, batch.previous),
        ):
            model.embedding.weight.grad = None
            F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten()).backward()
            found.append((logits[..., 1:].detach(), model.embedding.weight.grad))
        for form, (logits, gradient) in zip(("short", "general"), found[:2], strict=True):
            wide = (logits - found[2][0]).abs().max() / found[2][0].abs().max()
            steep = (gradient - found[2][1]).norm() / found[2][1].norm()
            print(f"{name:6} {form:8} logits {wide:.1e}  gradient {steep:.1e}", flush=True)
            assert wide < 1e-3
            assert steep < 1e-2


if __name__ == "__main__":
    main()
