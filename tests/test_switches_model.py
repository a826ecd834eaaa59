"""A model as a proposer: whatever it says, only the proof calls it proven."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from permnet.binary import open_binary
from permnet.checkpoint import SHIPPED, WEIGHTS, load, save
from permnet.cli import main
from permnet.config import ModelConfig, Run
from permnet.evaluate import evaluate
from permnet.models import PermNetI
from permnet.models.base import Seq2Seq, Step
from permnet.switches.claim import Switch
from permnet.switches.find import PROPOSERS, find_all, find_switches
from permnet.switches.model import Reader
from permnet.switches.model_data import examples
from permnet.switches.model_tokens import LONGEST
from permnet.switches.scan import proposers
from permnet.tasks.dispatch import DISPATCH, sample
from permnet.tasks.switch.dataset import build
from permnet.tasks.switch.draw import Draw
from permnet.vocab import EOS, Vocab
from tests.test_binary import compiled
from tests.test_dispatch import CHAIN
from tests.test_switch_lines import graph_of

WORDS = "cmp sub and bits set table else jmp je jne jge jl jae jb js jns ret nop blocks into onto"
VOCAB = Vocab((*WORDS.split(), ":", ";", "..", "default", "after", *"0123456789"), reserved=64)
NAMES = Vocab((*VOCAB.tokens, *(f".L{i}" for i in range(1, 101))), reserved=64)


class Parrot(Seq2Seq):
    """Says the same to every question: the state is how many tokens it has said."""

    def __init__(self, answer: str, ends: bool = True) -> None:
        super().__init__()
        self.vocab_size = len(NAMES)
        ids = NAMES.encode(answer.split())[0]
        self.ids = torch.tensor([*ids, EOS] if ends else ids)

    def encode(self, inputs: Tensor) -> Tensor:
        return torch.zeros(len(inputs), dtype=torch.long)

    def start(self, memory: Tensor) -> Tensor:
        return memory

    def step(self, memory: Tensor, state: Tensor, previous: Tensor) -> Step:
        said = self.ids[state % len(self.ids)]
        return Step(F.one_hot(said, self.vocab_size) * 50.0, state + 1)


def answered(code: str, answer: str, both: bool = False, ends: bool = True) -> list[Switch]:
    reader = {"model": Reader(Parrot(answer, ends), NAMES)}
    return find_switches(graph_of(code).function, PROPOSERS | reader if both else reader, True)


def test_what_a_model_says_is_proven_if_it_is_so() -> None:
    for word, has_default in (("after", False), ("default", True)):
        (switch,) = answered(CHAIN, f"{word} ; 5 ; 9 ;")
        assert (switch.status, switch.proposer, switch.reason) == ("proven", "model", "")
        assert switch.claim is not None
        assert switch.claim.has_default == has_default
        assert [b for b in switch.claim.labels() if b != ["default"]] == [[5], [9]]


@pytest.mark.parametrize(
    "wrong", ["after ; 9 ; 5 ;", "5 ; after ; 9 ;", "after ; 5 4 ; 9 ;", "after ; 4 .. 6 ; 9 ;"]
)
def test_a_wrong_claim_is_not_proven(wrong: str) -> None:
    (switch,) = answered(CHAIN, wrong)
    assert switch.status == "unproven"
    assert " leads to " in switch.reason
    (switch,) = answered(CHAIN, wrong, both=True)
    assert (switch.status, switch.proposer) == ("proven", "rules")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("after ; 5 ;", "3 addresses need as many answers"),
        ("after ; .L7 ; 9 ;", "neither labels"),
        ("5 ; 9 ; 1 ;", "values without a label"),
        ("after ; after ; 9 ;", "are said to be none"),
        ("after ; after ; after ;", "are said to be none"),
    ],
)
def test_what_is_no_claim_is_refused_with_a_reason(said: str, reason: str) -> None:
    (switch,) = answered(CHAIN, said)
    assert (switch.status, switch.claim) == ("refused", None)
    assert reason in switch.reason
    (switch,) = answered(CHAIN, said, both=True)
    assert (switch.status, switch.proposer) == ("proven", "rules")


def test_a_model_that_does_not_stop_is_stopped() -> None:
    (switch,) = answered(CHAIN, "5", ends=False)
    assert switch.status == "refused"
    assert "not 0" in switch.reason


class Doubtful(Parrot):
    """Thinks `9 ; 5` a little likelier than `5 ; 9`; its state tells which it goes on with."""

    def __init__(self) -> None:
        super().__init__("after ; 9 ; 5 ;")
        self.other = Parrot("after ; 5 ; 9 ;").ids
        self.last = torch.tensor(len(self.ids) - 1)

    def step(self, memory: Tensor, state: Tensor, previous: Tensor) -> Step:
        place, swapped = state % 100, state // 100
        swapped = torch.where(place == 3, (previous == self.other[2]).long(), swapped)
        at = place.minimum(self.last)
        said = torch.where(swapped == 1, self.other[at], self.ids[at])
        logits = F.one_hot(said, self.vocab_size) * 50.0
        logits[place == 2, self.other[2]] = 49.0
        return Step(logits, place + 1 + 100 * swapped)


def test_the_next_likely_answer_is_tried_where_the_first_is_not_proven() -> None:
    reader = Reader(Doubtful(), NAMES)
    (switch,) = find_switches(graph_of(CHAIN).function, {"model": reader})
    assert switch.status == "proven"
    assert switch.claim is not None
    assert switch.claim.labels() == [[5], [9]]


def test_long_questions_and_unknown_words_are_outside_its_domain(tmp_path: Path) -> None:
    labels = " ".join(f"case {i * i}: g({i}); break;" for i in range(LONGEST // 4))
    code = f"int g(int); int f(int x) {{ switch (x) {{ {labels} }} return g(x); }}"
    with open_binary(compiled(tmp_path, code, "-O0", "-c")) as binary:
        (function,) = binary.functions()
        reader = Reader(Parrot("after ; 5 ; 9 ;"), NAMES)
        (switch,) = find_switches(function, {"model": reader})
    assert switch.status == "refused"
    assert f"more than {LONGEST}" in switch.reason
    reader = Reader(Parrot("after ;"), Vocab(("cmp",), reserved=2))
    (switch,) = find_switches(graph_of(CHAIN).function, {"model": reader})
    assert switch.status == "refused"
    assert "outside the domain of the model" in switch.reason


def test_a_chain_of_ifs_stays_one(tmp_path: Path) -> None:
    code = "int g(int); int f(int x) { if (x == 1) g(1); else if (x == 5) g(2); " + (
        "else if (x == 9) g(3); else if (x == 12) g(4); return 0; }"
    )
    with open_binary(compiled(tmp_path, code, "-O0", "-c")) as binary:
        (function,) = binary.functions()
        assert not find_switches(function, {"model": Reader(Parrot("1 ; after ;"), NAMES)})


MANY = "\n".join(
    f"int f{i}(int x) {{ switch (x) {{ case {i}: return g({i}); case {i + 7}: return g(1); "
    f"case {2 * i + 90}: return g(2); }} return g(3); }}"
    for i in range(6)
)


def test_many_dispatches_are_asked_at_once_and_answered_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    monkeypatch.setattr("permnet.switches.model.ROWS", 4)
    reader = Reader(PermNetI(len(NAMES), embedding=8, hidden=4), NAMES)
    with open_binary(compiled(tmp_path, f"int g(int);\n{MANY}", "-O0", "-c")) as binary:
        functions = [*binary.functions()]
        rules = find_all(functions, PROPOSERS, emulate=False)
        both = find_all(functions, PROPOSERS | {"model": reader}, emulate=False)
        alone = find_all(functions, {"model": reader}, emulate=False)
    assert [[s.claim for s in of] for of in both] == [[s.claim for s in of] for of in rules]
    assert {switch.proposer for of in both for switch in of} == {"rules"}
    assert [len(of) for of in alone] == [1] * len(functions)
    assert not any(switch.status == "proven" for of in alone for switch in of)


def ship(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An untrained model in the place of the shipped ones."""
    run = Run(DISPATCH, ModelConfig("permneti", embedding=8, hidden=4))
    torch.manual_seed(0)
    model = PermNetI(len(NAMES), embedding=8, hidden=4)
    save(folder / DISPATCH, model, run, NAMES, {})
    monkeypatch.setattr("permnet.checkpoint.SHIPPED", folder)
    monkeypatch.setattr("permnet.switches.scan.proposers", proposers.__wrapped__)


def test_the_command_asks_a_shipped_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = compiled(tmp_path, f"int g(int);\n{MANY}", "-O0", "-c")
    ship(tmp_path / "models", monkeypatch)
    found = {}
    for proposer in ("rules", "model", "both"):
        arguments = ["switches", str(path), "--json", "--jobs", "1", "--proposer", proposer]
        assert main(arguments) == 0
        functions = json.loads(capsys.readouterr().out)["functions"]
        found[proposer] = [switch for f in functions for switch in f["switches"]]
    assert {switch["proposer"] for switch in found["model"]} == {"model"}
    assert "proven" not in {switch["status"] for switch in found["model"]}
    for rules, both in zip(found["rules"], found["both"], strict=True):
        assert {**rules, "seconds": 0} == {**both, "seconds": 0}


def test_without_a_shipped_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = compiled(tmp_path, f"int g(int);\n{MANY}", "-O0", "-c")
    monkeypatch.setattr("permnet.checkpoint.SHIPPED", tmp_path)
    monkeypatch.setattr("permnet.switches.scan.proposers", proposers.__wrapped__)
    assert main(["switches", str(path), "--proposer", "model"]) == 2
    assert "no model of dispatches comes with this copy" in capsys.readouterr().err
    assert main(["switches", str(path), "--proposer", "both"]) == 0
    shown = capsys.readouterr()
    assert "the model is left out" in shown.err
    assert " proven" in shown.out


def test_without_torch(tmp_path: Path) -> None:
    path = compiled(tmp_path, f"int g(int);\n{MANY}", "-O0", "-c")
    code = (
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'torch': raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "from permnet.cli import main\n"
        f"sys.exit(main(['switches', '--jobs', '1', {str(path)!r}, '--proposer', sys.argv[1]]))"
    )
    run = [
        subprocess.run(
            [sys.executable, "-c", code, name], capture_output=True, text=True, check=False
        )
        for name in ("both", "model")
    ]
    assert [one.returncode for one in run] == [0, 2]
    assert "proven" in run[0].stdout
    for one in run:
        assert "needs torch" in one.stderr
        assert "Traceback" not in one.stderr


def test_the_shipped_model_answers_drawn_switches() -> None:
    about = load(DISPATCH)
    made = filter(None, examples([sample(Draw(f"shipped/{i}")) for i in range(60)], ("gcc", "-O0")))
    short = [pair for pair in made if len(pair[0]) < 80]
    split = build(DISPATCH, "test", "shuffled", "gcc", short)
    figures = evaluate(about.model, split, vocab=about.vocab)
    assert figures["count"] > 20
    assert figures["skeleton"] > 0.8
    assert (SHIPPED / DISPATCH / WEIGHTS).stat().st_size <= 2 * 2**20
