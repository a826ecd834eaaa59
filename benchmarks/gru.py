"""The GRU of `permnet.kernels.gru` against torch.nn.GRU on a GPU: right first, then fast.

    python -m benchmarks.gru            # check, then time
    python -m benchmarks.gru --tiles    # also time other block shapes of the fused kernel

The floor counts what no version can leave out, with the recurrent weights on chip and the gates
computed again on the way back. Per token and direction, in units of H words: write the outputs (1),
read them and their gradient again (2); with dense inputs read the 3 gates twice and write their
gradient (9). Multiplications: 3H² forward, 3H² again for the gates, 3H² for the state's gradient,
3H² for the weights', two operations each. The time is the larger of the two over 4.2 TB/s (a copy)
and 60 TFLOP/s (float32) or 400 TFLOP/s (TF32).

`moved` is the time of the bytes this implementation does move. Forward: outputs 1, gates 4. Back:
gates, outputs, their gradient read 6, gate gradients and earlier states written 5; the weights'
product reads 4, the table's 4 with its one-hot matrix (V/H written and read).
"""

import argparse
import dataclasses
import itertools
import statistics
import traceback
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.command import needs_gpu, run
from permnet.errors import unknown
from permnet.kernels.gru import bigru_lookup, gru, gru_lookup

COPY = 4.2e12
RATE = {"ieee": 60e12, "tf32": 400e12}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    batch: int
    steps: int
    hidden: int
    vocab: int = 0  # 0: dense inputs as wide as the state
    directions: int = 1

    @property
    def tokens(self) -> int:
        return self.batch * self.steps * self.directions

    def floor(self, precision: str) -> float:
        words = 3 if self.vocab else 12
        flops = self.tokens * 24 * self.hidden**2
        return max(self.tokens * words * self.hidden * 4 / COPY, flops / RATE[precision])

    def moved(self) -> float:
        words = 20 * self.hidden * self.tokens
        if self.vocab:
            words += 4 * self.hidden * self.tokens + 2 * self.vocab * self.batch * self.steps
        else:
            words += 6 * self.hidden * self.tokens
        return words * 4 / COPY


CASES = [
    Case("PD10 encoder", 16384, 23, 32, 24, 2),
    Case("PD10 decoder", 16384, 11, 64, 24),
    Case("PI10 encoder", 8192, 33, 32, 34, 2),
    Case("PI10 decoder, dense", 8192, 11, 64),
    Case("PD100 encoder", 2048, 203, 128, 204, 2),
    Case("PD100 decoder", 2048, 101, 256, 204),
    Case("PI40 encoder", 1024, 128, 256, 128, 2),
    Case("PI100 encoder", 512, 303, 512, 304, 2),
    Case("PI100 decoder, dense", 512, 101, 1024),
]


@dataclasses.dataclass
class Problem:
    """One case as tensors: nn.GRU's own parameters, and inputs both implementations share."""

    case: Case
    theirs: nn.GRU
    source: Tensor  # embeddings (V, H), or dense inputs (B, T, H)
    ids: Tensor | None
    h0: Tensor  # (B, D·H)
    lengths: Tensor | None
    douts: tuple[Tensor, Tensor]

    @classmethod
    def draw(cls, case: Case, padded: bool) -> "Problem":
        torch.manual_seed(0)
        b, t, h, d = case.batch, case.steps, case.hidden, case.directions
        on = {"device": "cuda"}
        theirs = nn.GRU(h, h, batch_first=True, bidirectional=d == 2).cuda()
        return cls(
            case,
            theirs,
            torch.randn((case.vocab, h) if case.vocab else (b, t, h), **on, requires_grad=True),
            torch.randint(case.vocab, (b, t), **on) if case.vocab else None,
            torch.randn(b, d * h, **on, requires_grad=True),
            torch.randint(1, t + 1, (b,), **on) if padded else None,
            (torch.randn(b, t, d * h, **on), torch.randn(b, d * h, **on)),
        )

    def double(self) -> "Problem":
        def leaf(tensor: Tensor) -> Tensor:
            return tensor.detach().double().requires_grad_()

        size = self.case.hidden
        theirs = nn.GRU(size, size, batch_first=True, bidirectional=self.theirs.bidirectional)
        theirs.double().cuda().load_state_dict(self.theirs.state_dict())
        douts = (self.douts[0].double(), self.douts[1].double())
        return dataclasses.replace(
            self, theirs=theirs, source=leaf(self.source), h0=leaf(self.h0), douts=douts
        )

    def leaves(self) -> list[Tensor]:
        return [self.source, self.h0, *self.theirs.parameters()]

    def ours(self) -> tuple[Tensor, Tensor]:
        params = list(self.theirs.parameters())
        if self.ids is None:
            return gru(self.source, self.h0, *params, lengths=self.lengths)
        tables = [
            torch.addmm(params[i + 2], self.source, params[i].T) for i in range(0, len(params), 4)
        ]
        if self.case.directions == 1:
            return gru_lookup(self.ids, tables[0], self.h0, params[1], params[3], self.lengths)
        w_hh, b_hh = torch.stack(params[1::4]), torch.stack(params[3::4])
        return bigru_lookup(self.ids, torch.stack(tables), self.h0, w_hh, b_hh, self.lengths)

    def yardstick(self) -> tuple[Tensor, Tensor]:
        x = self.source if self.ids is None else self.source[self.ids]
        h0 = self.h0.unflatten(1, (self.case.directions, -1)).transpose(0, 1).contiguous()
        if self.lengths is None:
            out, last = self.theirs(x, h0)
        else:
            lengths = self.lengths.cpu()
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            out, last = self.theirs(packed, h0)
            out, _ = pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
        return out, last.transpose(0, 1).flatten(1)

    def results(self, call: Callable[[], tuple[Tensor, Tensor]]) -> list[Tensor]:
        outputs = call()
        return [*outputs, *torch.autograd.grad(outputs, self.leaves(), self.douts)]


def set_precision(precision: str) -> None:
    torch.backends.cuda.matmul.fp32_precision = precision
    torch.backends.cudnn.rnn.fp32_precision = precision


def check(case: Case, precision: str) -> bool:
    """Distance from nn.GRU in double precision, ours and nn.GRU's own in float32."""
    good = True
    case = dataclasses.replace(case, batch=min(case.batch, 500), steps=min(case.steps, 60))
    for padded in (False, True):
        problem = Problem.draw(case, padded)
        wide = problem.double()
        exact = wide.results(wide.yardstick)
        worst = {}
        for name, call in (("ours", problem.ours), ("nn.GRU", problem.yardstick)):
            found = problem.results(call)
            errors = [
                float((a - b).detach().norm() / b.norm()) for a, b in zip(found, exact, strict=True)
            ]
            worst[name] = max(e if e == e else float("inf") for e in errors)
        limit = max(4 * worst["nn.GRU"], 1e-5 if precision == "ieee" else 3e-3)
        good &= worst["ours"] <= limit
        print(
            f"{case.name:22} {precision} {'padded' if padded else 'full':6}"
            f"  ours {worst['ours']:.1e}  nn.GRU {worst['nn.GRU']:.1e}"
            f"  {'ok' if worst['ours'] <= limit else 'WRONG'}",
            flush=True,
        )
    return good


def milliseconds(call: Callable[[], object], graph: bool, repeats: int = 20) -> float:
    """Median time of a call, as a graph replay or as it is."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    if graph:
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            kept = call()
        call = captured.replay
    call()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    if graph:
        del kept
    return statistics.median(times)


def time_case(case: Case, precision: str) -> None:
    problem = Problem.draw(case, padded=False)

    def forward() -> object:
        with torch.no_grad():
            return problem.ours()

    floor, moved = 1e3 * case.floor(precision), 1e3 * case.moved()
    once = milliseconds(forward, graph=True)
    both = milliseconds(lambda: problem.results(problem.ours), graph=True)
    theirs = milliseconds(lambda: problem.results(problem.yardstick), graph=False, repeats=5)
    print(
        f"{case.name:22} {precision} {once:9.3f} {both:9.3f} {theirs:9.3f} {theirs / both:6.1f}x"
        f" {moved:8.3f} {floor:8.3f} {floor / both:6.0%}",
        flush=True,
    )


def time_tiles(case: Case) -> None:
    """Other rows and warps for the fused kernel, forward and with gradients."""
    from permnet.kernels import triton_gru

    key = ("tf32", triton_gru.padded(case.hidden))
    if key not in triton_gru.TILES:
        return
    problem, usual = Problem.draw(case, padded=False), triton_gru.TILES.pop(key)
    attempt(time_tile, problem, "step by step")
    for rows, warps in itertools.product((16, 32, 64), (2, 4, 8)):
        triton_gru.TILES[key] = (rows, warps)
        spread = rows * case.hidden >= 128 * warps  # at least four elements a thread
        if spread and triton_gru.fits(problem.h0.unflatten(1, (case.directions, -1))):
            mark = " (in use)" if (rows, warps) == usual else ""
            attempt(time_tile, problem, f"rows {rows} warps {warps}{mark}")
    triton_gru.TILES[key] = usual


def time_tile(problem: Problem, label: str) -> None:
    spent = milliseconds(lambda: problem.results(problem.ours), graph=True)
    print(f"{problem.case.name:22} {label:26} {spent:9.3f}", flush=True)


def attempt(call: Callable[..., object], *args: object) -> bool:
    """Whether the call worked; a failure is printed and the run goes on."""
    try:
        return call(*args) is not False
    except Exception:
        print(traceback.format_exc(limit=-3), flush=True)
        return False
    finally:
        torch.cuda.empty_cache()


def main() -> None:
    parser = argparse.ArgumentParser(description="Check and time the GRU on a GPU.")
    parser.add_argument("--tiles", action="store_true", help="time other block shapes as well")
    parser.add_argument("--cases", nargs="+", default=[""], help="how the names of cases begin")
    kinds = ["tf32", "ieee"]
    parser.add_argument("--precision", nargs="+", default=kinds, choices=kinds)
    options = parser.parse_args()
    needs_gpu()
    cases = [case for case in CASES if case.name.startswith(tuple(options.cases))]
    if not cases:
        raise unknown("case", " ".join(options.cases), [case.name for case in CASES])
    good = True
    print("largest relative distance from nn.GRU in float64, outputs and all gradients")
    for precision in options.precision:
        set_precision(precision)
        for case in cases:
            good &= attempt(check, case, precision)
    print("\nmilliseconds; forward, and forward with all gradients, as graph replays")
    print(f"{'case':27} {'forward':>9} {'ours':>9} {'nn.GRU':>9} {'':>7}", end="")
    print(f" {'moved':>8} {'floor':>8} {'share':>6}")
    for precision in options.precision:
        set_precision(precision)
        for case in cases:
            good &= attempt(time_case, case, precision)
    if options.tiles:
        print("\nblock shapes, forward with all gradients, ms")
        set_precision("tf32")
        for case in cases:
            attempt(time_tiles, case)
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    run(main)
