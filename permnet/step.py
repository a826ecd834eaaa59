"""One step of training: rows, forward, backward, clipping, AdamW; nothing in it waits for a device.

On one CUDA device the whole step is captured in a graph and replayed, one for each shape of batch;
elsewhere the same function runs eagerly. What changes from step to step reaches it through tensors:
the row numbers, the rate, the random state.

A step whose loss or gradient is not finite updates nothing, nor does any step after it. So when
`failed_after` tells, up to many steps later, the weights are still those before the bad step.
"""

import math
from collections.abc import Callable, Sequence

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim import AdamW

from permnet.batch import Batch
from permnet.config import TrainConfig
from permnet.errors import PermnetError
from permnet.kernels.loss import cross_entropy
from permnet.models.base import Seq2Seq
from permnet.vocab import PAD

DECAYED = "resolver.emb_ind.weight"
"""Weight decay makes the rows of tokens that are no index fade, and is meant for nothing else."""

WARM_UP = 3  # steps before a capture, as libraries set themselves up on first use


class Optimiser:
    """AdamW on a model's parameters, with the rate and a switch to skip updates as tensors."""

    def __init__(self, model: Seq2Seq, config: TrainConfig, device: torch.device) -> None:
        self.named = dict(model.named_parameters())
        decayed = [p for name, p in self.named.items() if name == DECAYED]
        others = [p for name, p in self.named.items() if name != DECAYED]
        parameters = [*decayed, *others]
        assert len(parameters) == len(set(parameters)) == len(list(model.parameters()))
        self.rate = torch.tensor(config.rate, device=device)
        self.skip = torch.zeros((), device=device)
        self.adamw = AdamW(
            [
                {"params": group, "weight_decay": decay}
                for group, decay in ((decayed, config.weight_decay), (others, 0.0))
                if group
            ],
            lr=self.rate,
            betas=(0.9, 0.999),
            fused=True,
            capturable=device.type == "cuda",
        )
        # How gradient scalers tell a fused optimiser, without a synchronisation, to do nothing.
        self.adamw.found_inf = self.skip  # type: ignore[attr-defined]

    def state(self) -> dict[str, Tensor]:
        """Its state by parameter name, as `encoder.forwards.w_ih/exp_avg`."""
        return {
            f"{name}/{key}": value
            for name, parameter in self.named.items()
            for key, value in self.adamw.state[parameter].items()
        }

    def load(self, state: dict[str, Tensor]) -> None:
        for name, value in state.items():
            of, _, key = name.rpartition("/")
            if of not in self.named:
                raise PermnetError(
                    f"cannot resume: the optimiser's state holds {name!r}, of no weight"
                )
            parameter = self.named[of]
            self.adamw.state[parameter][key] = value.to(parameter.device)


def rate_at(config: TrainConfig, step: int, progress: float) -> float:
    """The rate of a step, counted from 0; `progress` is the share done of the full length's."""
    warm = min(1.0, (step + 1) / config.warmup) if config.warmup else 1.0
    fall = (1 + math.cos(math.pi * progress)) / 2 if config.schedule == "cosine" else 1.0
    return config.rate * warm * fall


class TrainStep:
    """The step on resident data, in buckets; they may be overwritten in place between epochs.

    `vary` makes of a batch what this step sees of it. The row numbers are those of the global
    batch: each process takes its share of them and divides by the number of tokens in all, so that
    many processes do what one would.
    """

    def __init__(
        self,
        fabric: Fabric,
        module: nn.Module,
        optimiser: Optimiser,
        data: Sequence[Batch],
        config: TrainConfig,
        repeats: bool,
        vary: Callable[[Batch, torch.Generator], Batch],
    ) -> None:
        self.fabric, self.module, self.optimiser = fabric, module, optimiser
        self.data, self.config, self.repeats, self.vary = data, config, repeats, vary
        device = data[0].inputs.device
        self.index = torch.zeros(config.batch, dtype=torch.long, device=device)
        self.generator = torch.Generator(device)
        self.loss = torch.zeros((), device=device)
        """Sum over the good steps since it was last set."""
        self.good = torch.zeros((), device=device)
        """Good steps since it was last set."""
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.captures = device.type == "cuda" and fabric.world_size == 1

    def __call__(self, bucket: int, index: Tensor, rate: float, seed: int) -> None:
        self.index.copy_(index)
        self.optimiser.rate.fill_(rate)
        if self.captures and bucket not in self.graphs:
            self.graphs[bucket] = self._captured(bucket)
        self.generator.manual_seed(seed)
        if self.captures:
            self.graphs[bucket].replay()
        else:
            self._run(bucket)

    def losses(self, bucket: int, index: Tensor) -> Tensor:
        """The mean loss over the targets, and its gradients in the parameters."""
        batch = self.vary(self.data[bucket].rows(index), self.generator)
        count = (batch.targets != PAD).sum()
        world, rank = self.fabric.world_size, self.fabric.global_rank
        if world > 1:
            batch = Batch(batch.inputs.chunk(world)[rank], batch.targets.chunk(world)[rank])
        logits = self.module(batch.inputs, batch.previous, repeats=self.repeats)
        total = cross_entropy(logits, batch.targets)
        if self.config.z_loss:
            squares = logits.float().logsumexp(-1).square() * (batch.targets != PAD)
            total = total + self.config.z_loss * squares.sum()
        loss = total * world / count  # processes average their gradients
        self.optimiser.adamw.zero_grad(set_to_none=True)
        self.fabric.backward(loss)
        return loss.detach()

    def _run(self, bucket: int) -> None:
        loss = self.losses(bucket, self.index)
        norm = nn.utils.clip_grad_norm_(
            self.module.parameters(), self.config.clip or math.inf, foreach=True
        )
        skip = self.optimiser.skip
        skip.copy_(torch.maximum(skip, (~torch.isfinite(loss + norm)).float()))
        self.optimiser.adamw.step()
        self.loss += torch.where(skip > 0, 0.0, loss)
        self.good += 1 - skip

    def _captured(self, bucket: int) -> torch.cuda.CUDAGraph:
        """Records the step; the warm-up and the recording leave weights and sums as they were.

        All graphs share one pool of memory: nothing in it is read after a replay.
        """
        kept = self.loss.clone(), self.good.clone()
        self.optimiser.skip.fill_(1.0)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(1 if self.graphs else WARM_UP):
                self._run(bucket)
        torch.cuda.current_stream().wait_stream(side)
        self.optimiser.adamw.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.generator)
        pool = next(iter(self.graphs.values())).pool() if self.graphs else None
        with torch.cuda.graph(graph, pool=pool):
            self._run(bucket)
        self.optimiser.skip.zero_()
        self.loss.copy_(kept[0])
        self.good.copy_(kept[1])
        return graph

    def failed_after(self) -> int | None:
        """Waits for the device; None if all is finite, else the good steps before the first bad."""
        return int(self.good) if bool(self.optimiser.skip) else None

    def explain(self, bucket: int, index: Tensor, seed: int) -> str:
        """What is not finite when these rows are met again, by name."""
        self.generator.manual_seed(seed)
        loss = self.losses(bucket, index.to(self.index.device))
        bad = [] if bool(torch.isfinite(loss)) else [f"the loss is {loss.item()}"]
        for name, parameter in self.optimiser.named.items():
            gradient = parameter.grad
            if gradient is not None and not bool(torch.isfinite(gradient).all()):
                bad.append(f"the gradient of {name} is not finite")
                break
        return " and ".join(bad) or "the norm of the gradient is not finite"
