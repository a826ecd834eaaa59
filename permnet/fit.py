"""The loop: lengths, epochs, steps, and between them validation, checkpoints and the clock.

Every random number follows from the seed and the position in the run, so a resumed run goes on
exactly as an uninterrupted one would.
"""

import math
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from permnet.batch import Batch, epoch
from permnet.build import build
from permnet.checkpoint import begin_with, load
from permnet.config import Run
from permnet.decode import Decoder
from permnet.display import Display
from permnet.errors import PermnetError
from permnet.evaluate import predict
from permnet.kernels.loss import cross_entropy
from permnet.material import Stage, derived, material
from permnet.runfolder import Position, RunFolder, Saved, Stopped
from permnet.step import Optimiser, TrainStep, rate_at
from permnet.tasks.benchmarks import Benchmark
from permnet.tasks.switch.benchmark import SwitchBenchmark
from permnet.vocab import PAD

CHECK_STEPS = 50
"""Steps between looks at the device, to see whether all is finite: a look waits for the device."""
CHECK_SECONDS = 1.0
SAVE_SECONDS = 300.0
"""A checkpoint is at most about this old, however seldom the run is evaluated."""
SAVE_SHARE = 0.05
"""Of the time goes into checkpoints, about, at the most: large models' take a second each."""

T = TypeVar("T")


class Clock:
    """Seconds since the process took up the run, and whether enough of them are left.

    `sharing` runs use the device at a time, this one included.
    """

    def __init__(self, budget: float | None, sharing: int = 1) -> None:
        self.began, self.budget, self.sharing = time.monotonic(), budget, sharing
        self.slowest: dict[str, float] = {}

    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def timed(self, what: str, action: Callable[[], T]) -> T:
        """Does it, and remembers the longest that this sort of thing took."""
        began = time.monotonic()
        value = action()
        self.slowest[what] = max(self.slowest.get(what, 0.0), time.monotonic() - began)
        return value

    def enough_for(self, seconds: float) -> bool:
        return self.budget is None or self.elapsed() + seconds < self.budget

    def stop(self) -> None:
        """Leaves no time for anything more."""
        self.budget = 0.0


class Trainer:
    """A model in training; `files` is None in all processes but the first."""

    def __init__(
        self,
        fabric: Fabric,
        run: Run,
        bench: Benchmark | SwitchBenchmark,
        files: RunFolder | None,
        clock: Clock,
        display: Display,
    ) -> None:
        self.fabric, self.run, self.config, self.bench = fabric, run, run.train, bench
        self.files, self.clock, self.display = files, clock, display
        self.material = material(run, bench, fabric.device)
        self.vocab = self.material.vocab
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(run.train.seed)
            self.model = build(run.model, self.vocab, bench.task)
        if run.train.start:
            begin_with(self.model, self.vocab, load(run.train.start))
        module: nn.Module = self.model
        if run.train.compile:  # for the step alone: validation has too many shapes
            module = cast(nn.Module, torch.compile(self.model, dynamic=False))
        self.module = fabric.setup_module(module)
        self.decoders: list[Decoder] = []
        self.optimiser = Optimiser(self.model, run.train, fabric.device)
        self.position = Position()
        self.seconds_before = 0.0
        self.rate = 0.0
        self.checked = self.saved = time.monotonic()
        if files:
            files.check_space(self.model)

    def restore(self, saved: Saved | None) -> None:
        if saved is not None:
            self.model.load_state_dict(saved.weights)
            self.optimiser.load(saved.optimiser)
            self.position = saved.position
            self.seconds_before = saved.position.seconds
        self.position.sharing = max(self.position.sharing, self.clock.sharing)

    def fit(self) -> bool:
        """Trains to the end, or as far as time allows; tells whether it is the end."""
        lengths = (*self.config.grow, self.bench.task.longest)
        for number in range(self.position.stage, len(lengths)):
            if number > self.position.stage:
                self.position.stage, self.position.epoch, self.position.stopped = number, 0, None
            ended = self._fit_stage(self.material.stage(lengths[number]))
            self._release()
            if not ended:
                return False
        return True

    def _fit_stage(self, stage: Stage) -> bool:
        step = TrainStep(
            self.fabric,
            self.module,
            self.optimiser,
            [bucket.data for bucket in stage.training],
            self.config,
            stage.repeats,
            self.material.vary,
        )
        self.decoders = [Decoder(self.model) for _ in stage.validation]
        at = self.position
        while at.epoch < stage.epochs and at.stopped is None:
            if not self._epoch(stage, step):
                return False
            loss = self._mean(step.loss) / at.batch
            step.loss.zero_()
            at.batch, at.loss, at.epoch, at.epochs = 0, 0.0, at.epoch + 1, at.epochs + 1
            self._show(stage, loss)
            out_of_time = self._out_of_time()
            last = at.epoch == stage.epochs or out_of_time
            evaluated = last or at.epoch % self.config.evaluate_every == 0
            if evaluated:
                self._evaluate(stage, loss)
                at.stopped = self._reason_to_stop(stage, out_of_time)
            over = at.epoch == stage.epochs or at.stopped is not None
            if over or (evaluated and self._worth_saving()):
                self._save()
            # After the last epoch of all, what is left is the test: `_finish` looks at the clock.
            tests_next = over and stage.length == self.bench.task.longest
            if not tests_next and not self._carry_on(step):
                return False
        return True

    def _release(self) -> None:
        """Gives back the memory of the length's graphs, before those of the next are captured."""
        self.decoders = []
        # The gradients lie in the memory of the step's graph and would keep it.
        self.optimiser.adamw.zero_grad(set_to_none=True)
        if self.fabric.device.type == "cuda":
            torch.cuda.empty_cache()

    def _out_of_time(self) -> bool:
        limit = self.config.time_limit * self.clock.sharing
        spent = self.seconds_before + self.clock.elapsed()
        return bool(self.fabric.broadcast(spent >= limit)) if limit else False

    def _reason_to_stop(self, stage: Stage, out_of_time: bool) -> Stopped | None:
        """Why the stage ends here, before its epochs are over."""
        at = self.position
        assert at.last is not None
        if at.epoch == stage.epochs:
            return None
        if at.last["wea"] >= stage.solved:
            return "solved"
        if at.epoch - at.lowest_epoch >= stage.patience:
            return "patience"
        return "time" if out_of_time else None

    def _epoch(self, stage: Stage, step: TrainStep) -> bool:
        """What is left of the epoch under way; False if time ran out and it was saved for later."""
        at, config = self.position, self.config
        place = (config.seed, at.stage, at.epoch)
        self.material.refresh(stage, place)
        generator = torch.Generator(self.fabric.device).manual_seed(derived("order", *place))
        order = epoch([bucket.data for bucket in stage.training], config.batch, generator)
        full_length = stage.length == self.bench.task.longest
        step.loss.fill_(at.loss)
        step.good.zero_()
        looked = at.batch
        while at.batch < len(order):
            done = at.epoch * len(order) + at.batch if full_length else 0
            self.rate = rate_at(config, at.step, done / (stage.epochs * len(order)))
            step(*order[at.batch], self.rate, derived("lend", *place, at.batch))
            at.batch += 1
            at.step += 1
            last = at.batch == len(order)
            if last or self._due():
                self._check_finite(step, order, looked, place)
                looked = at.batch
                if not last and not self._carry_on(step):
                    return False
        return True

    def _due(self) -> bool:
        # Several processes must agree when to look, so they go by the number of steps alone.
        alone = self.fabric.world_size == 1
        waited = time.monotonic() - self.checked > CHECK_SECONDS
        return self.position.step % CHECK_STEPS == 0 or (alone and waited)

    def _check_finite(
        self,
        step: TrainStep,
        order: list[tuple[int, Tensor]],
        looked: int,
        place: tuple[int, ...],
    ) -> None:
        good = step.failed_after()
        if good is not None:
            batch = looked + good
            reason = step.explain(*order[batch], derived("lend", *place, batch))
            number = self.position.step - (self.position.batch - batch) + 1
            raise PermnetError(
                f"training diverged at step {number}, epoch {self.position.epochs + 1}: {reason}; "
                f"the last good checkpoint is kept; lower train.rate (now {self.config.rate}) "
                f"or train.clip (now {self.config.clip})"
            )
        step.good.zero_()
        self.checked = time.monotonic()

    def _carry_on(self, step: TrainStep) -> bool:
        """In an epoch or after one: saves if it is time, and tells whether to go on."""
        slowest = self.clock.slowest
        reserve = 1.0 + 2 * (slowest.get("evaluate", 0.0) + slowest.get("save", 0.0))
        stop, save = self.fabric.broadcast(
            (not self.clock.enough_for(reserve), time.monotonic() - self.saved > SAVE_SECONDS)
        )
        if stop or save:
            self.position.loss = self._mean(step.loss)
            step.loss.fill_(self.position.loss)
            self._save()
        return not stop

    def _worth_saving(self) -> bool:
        """Whether the last checkpoint is old for what one takes; all processes agree."""
        wait = min(SAVE_SECONDS, self.clock.slowest.get("save", 0.0) / SAVE_SHARE)
        return bool(self.fabric.broadcast(time.monotonic() - self.saved >= wait))

    def _mean(self, value: Tensor) -> float:
        """Over all processes."""
        return float(cast(Tensor, self.fabric.all_reduce(value.clone(), reduce_op="mean")))

    def _evaluate(self, stage: Stage, loss: float) -> None:
        at = self.position
        marks, validation_loss = self.clock.timed("evaluate", lambda: self._validate(stage))
        wea = marks["wea"]
        at.seconds = self.seconds_before + self.clock.elapsed()
        at.last = {
            "step": at.step,
            "epoch": at.epochs,
            "seconds": round(at.seconds, 3),
            "loss": loss,
            "validation_loss": validation_loss,
            **marks,
            "rate": self.rate,
            "stage": stage.length,
        }
        at.lines += 1
        self._on_first(lambda files: files.log(at.last or {}))
        if stage.length == self.bench.task.longest:
            if at.epochs_to_99 is None and wea >= 0.99:
                at.epochs_to_99 = at.epochs
            if validation_loss is not None and (at.lowest is None or validation_loss < at.lowest):
                at.lowest, at.lowest_epoch = validation_loss, at.epoch
            if at.best is None or (wea, marks["ta"]) > (at.best["wea"], at.best["ta"]):
                at.best = at.last
                self._on_first(lambda files: files.save("best", self.model, self.vocab, at))
        self._show(stage, loss)

    def _validate(self, stage: Stage) -> tuple[dict[str, float], float | None]:
        """TA, WEA and their like, running freely; the loss, teacher-forced, or None if not finite.

        With a finite loss comes the largest logit: where they grow without end, TF32 is soon too
        coarse for them. Every process answers its share of the examples.
        """
        share = self.fabric.global_rank, self.fabric.world_size
        totals = dict.fromkeys((*self.material.marks, "loss", "tokens"), 0.0)
        largest = -math.inf
        for bucket, decoder in zip(stage.validation, self.decoders, strict=True):
            own = bucket.share(*share)
            if len(own):
                width = own.data.targets.shape[1]
                answers = predict(
                    self.model, own.data.inputs, width, self.config.batch, decoder=decoder
                )
                for name, values in self.material.grade(own, answers).items():
                    totals[name] += float(values.sum())
                loss, tokens, most = self._loss(own.data, stage.repeats)
                largest = max(largest, most)
                totals["loss"] += loss
                totals["tokens"] += tokens
        *right, loss_sum, token_sum = self._over_all([*totals.values()], "sum")
        [largest] = self._over_all([largest], "max")
        count = sum(map(len, stage.validation))
        means = {name: n / count for name, n in zip(self.material.marks, right, strict=True)}
        if not math.isfinite(loss_sum):
            return means, None
        return {**means, "largest_logit": largest}, loss_sum / token_sum

    def _over_all(self, values: list[float], reduce_op: str) -> list[float]:
        """The sums or the like of the processes' values."""
        here = torch.tensor(values, dtype=torch.double, device=self.fabric.device)
        found: list[float] = cast(
            Tensor, self.fabric.all_reduce(here, reduce_op=reduce_op)
        ).tolist()
        return found

    @torch.no_grad()
    def _loss(self, data: Batch, repeats: bool) -> tuple[float, int, float]:
        """The targets' cross-entropy, teacher-forced, their number, and the largest logit."""
        device = self.fabric.device
        total = torch.zeros((), dtype=torch.double, device=device)
        largest = torch.tensor(-torch.inf, device=device)
        self.model.eval()
        for index in torch.arange(len(data), device=device).split(self.config.batch):
            part = data.rows(index)
            logits = self.model(part.inputs, part.previous, repeats=repeats)
            total += cross_entropy(logits, part.targets)
            largest = torch.maximum(largest, logits.amax().float())
        self.model.train()
        return float(total), int((data.targets != PAD).sum()), float(largest)

    def _save(self) -> None:
        self.position.seconds = self.seconds_before + self.clock.elapsed()
        state = self.optimiser.state()
        self.clock.timed(
            "save",
            lambda: self._on_first(
                lambda files: files.save("last", self.model, self.vocab, self.position, state)
            ),
        )
        self.saved = time.monotonic()

    def _on_first(self, action: Callable[[RunFolder], None]) -> None:
        on_first(self.fabric, lambda: action(self.files) if self.files else None)

    def _show(self, stage: Stage, loss: float) -> None:
        at = self.position
        text = (
            f"{self.bench} length {stage.length} epoch {at.epoch}/{stage.epochs}"
            f" · {at.step / (self.seconds_before + self.clock.elapsed()):.1f} steps/s"
            f" · rate {self.rate:.2g} · loss {loss:.4f}"
        )
        if at.last:
            text += f" · TA {100 * at.last['ta']:.2f} % · WEA {100 * at.last['wea']:.2f} %"
        self.display(at.epoch, stage.epochs, text)


def on_first(fabric: Fabric, action: Callable[[], T]) -> T:
    """Does something in the first process; all of them return its value or raise its error."""
    outcome: tuple[Any, str | None] = (None, None)
    if fabric.is_global_zero:
        try:
            outcome = (action(), None)
        except PermnetError as error:
            outcome = (None, str(error))
    value, message = fabric.broadcast(outcome)
    if message is not None:
        raise PermnetError(message)
    return value
