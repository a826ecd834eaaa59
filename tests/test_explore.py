"""What the explorer's page is told, held against the model itself; the exported page."""

import base64
import hashlib
import json
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from permnet.build import build
from permnet.checkpoint import Checkpoint, load, save, shipped
from permnet.cli import main
from permnet.config import ModelConfig, ModelName, Run
from permnet.decode import greedy
from permnet.errors import PermnetError
from permnet.explore.export import bake
from permnet.explore.models import Models
from permnet.explore.record import Parts, find_parts, record, sample
from permnet.models import PermNetD, PermNetI
from permnet.tasks.benchmarks import benchmark
from permnet.tasks.dispatch import DISPATCH
from permnet.tasks.permutation import NOISE, Task, parse
from permnet.tasks.solve import solve

ROOT = Path(__file__).parent.parent
INDIRECT = "a 2 b 1 c 3 <sep> 1 3 2"
DIRECT = "c a b <sep> 2 0 1"


def untrained(where: str, name: ModelName, without: str | None = None) -> Checkpoint:
    torch.manual_seed(1)
    run = Run(where, ModelConfig(name, embedding=8, hidden=4, layers=1, heads=2, without=without))
    task = benchmark(where).task
    return Checkpoint(run, task, task.vocab(), {}, build(run.model, task.vocab(), task).eval())


def array(told: dict, name: str) -> np.ndarray:
    raw = told["arrays"][name]
    return np.frombuffer(base64.b64decode(raw["base64"]), "<f4").reshape(raw["shape"])


def by_hand(trained: Checkpoint, told: dict):
    ids, _ = trained.vocab.encode(told["tokens"])
    return greedy(trained.model, torch.tensor([ids]), trained.task.target_width, record=True)


@pytest.mark.parametrize("name", ["PI1-4", "PI10", "PI_DICT"])
def test_every_way_of_permneti_is_a_maximum_of_its_own_record(name: str) -> None:
    trained = load(name)
    told = record(trained, sample(trained.task, 3))
    found = by_hand(trained, told)
    memory = found.memory.resolver
    assert told["output"] == told["expected"] == trained.vocab.decode(found.ids[0])
    ids = found.memory.resolver.ids[0].tolist()
    queries = iter(told["parts"]["queries"])
    for t, way in enumerate(told["ways"]):
        token = int(found.ids[0, t])
        v_dw = found.steps[t].point.v_dw[0, 0]
        assert way["datum"] == max(
            (i for i in range(len(ids)) if ids[i] == token), key=lambda i: float(v_dw[i])
        )
        assert way["query"] == next(queries, None)
        if way["query"] is not None:
            through = [
                float(memory.m_dk[0, way["datum"], k] * memory.m_kp[0, k, way["query"]])
                for k in told["parts"]["keys"]
            ]
            assert way["key"] == told["parts"]["keys"][through.index(max(through))]
    for drawn in ("m_dk", "m_kp", "m_dp"):
        assert np.array_equal(array(told, drawn), getattr(memory, drawn)[0].numpy())
    assert np.array_equal(array(told, "roles"), memory.m_label[0].numpy())
    for t, step in enumerate(found.steps):
        assert np.array_equal(array(told, "v_pw")[t], step.point.v_pw[0, 0].numpy())
        assert np.array_equal(array(told, "positions")[t], step.point.v_dw[0, 0].numpy())
        assert np.array_equal(array(told, "attention")[t], step.attention[0].numpy())


@pytest.mark.parametrize("name", ["PD1-4", "PD10"])
def test_every_way_of_permnetd_is_a_maximum_of_its_own_record(name: str) -> None:
    trained = load(name)
    told = record(trained, sample(trained.task, 3))
    found = by_hand(trained, told)
    v_arr = found.memory.resolver.v_arr[0]
    assert told["output"] == told["expected"]
    for t, way in enumerate(told["ways"]):
        v_ind = found.steps[t].point.v_ind[0, 0]
        summands = [
            float(v_arr[way["datum"] - j] * v_ind[j])
            for j in range(min(len(v_ind), way["datum"] + 1))
        ]
        assert way["offset"] == summands.index(max(summands))
        assert array(told, "positions")[t, way["datum"]] == pytest.approx(sum(summands), rel=1e-3)
        assert np.array_equal(array(told, "v_ind")[t], v_ind.numpy())
    weight = trained.model.get_parameter("resolver.emb_ind.weight").detach()
    assert np.array_equal(array(told, "index_embedding"), weight.numpy())


def test_logits_are_the_sum_of_their_parts() -> None:
    for name in ("PI10", "PD10"):
        trained = load(name)
        told = record(trained, sample(trained.task, 5))
        total = array(told, "vocabulary") + array(told, "resolver")
        assert np.allclose(total[:, 1:], array(told, "logits")[:, 1:], rtol=1e-6)
        chosen = array(told, "logits").argmax(1)
        assert [told["names"][i] for i in chosen] == told["output"]


@pytest.mark.parametrize(
    ("where", "name", "without"),
    [
        *(("PI10", "permneti", without) for without in PermNetI.ABLATIONS),
        *(("PD10", "permnetd", without) for without in PermNetD.ABLATIONS),
        *(
            ("PI10", name, None)
            for name in ("gru", "gru-attention", "copynet", "transformer", "transformer-resolver")
        ),
        ("PD10", "pointer", None),
        ("PI10", "pointer-generator", None),
        ("PI10", "copy-decompiler", None),
        ("PI10", "decompiler", None),
    ],
)
def test_every_model_and_ablation_has_a_record(where, name, without) -> None:
    trained = untrained(where, name, without)
    told = record(trained, sample(trained.task, 0))
    json.dumps(told, allow_nan=False)
    length, steps = len(told["tokens"]), len(told["output"])
    assert len(told["ways"]) == len(told["confidence"]) == steps
    assert told["expected"][-1] == "<eos>"
    for part, shape in {
        "roles": [length, 4],
        "m_dp": [length, length],
        "v_attn": [steps, length],
        "v_pw": [steps, length],
        "positions": [steps, length],
        "v_arr": [1, length],
    }.items():
        assert told["arrays"].get(part, {"shape": shape})["shape"] == shape


def test_an_answer_that_is_wrong_stands_beside_the_solver_s() -> None:
    trained = untrained("PI1-4", "permneti")
    told = record(trained, INDIRECT)
    assert told["expected"] == ["b", "c", "a", "<eos>"]
    assert told["output"] != told["expected"]
    assert [way["datum"] for way in told["true_ways"]] == [3, 5, 1]
    assert [way["key"] for way in told["true_ways"]] == [4, 6, 2]
    direct = record(untrained("PD1-4", "permnetd"), DIRECT)
    assert direct["expected"] == ["b", "c", "a", "<eos>"]
    assert [(way["datum"], way["offset"]) for way in direct["true_ways"]] == [
        (3, 2),
        (1, 0),
        (2, 1),
    ]


@given(
    kind=st.sampled_from(["direct", "indirect", "dict"]),
    noise=st.integers(0, 6),
    longest=st.integers(1, 9),
    seed=st.integers(0, 2**32 - 1),
)
def test_parts_are_those_that_the_parser_finds(kind, noise, longest, seed) -> None:
    task = Task(kind, 1, longest, noise)
    text = sample(task, seed)
    tokens = ["<sos>", *text.split(), "<eos>"]
    parts = find_parts(task, tokens)
    parsed = parse(kind, tokens, NOISE if noise else ())
    assert tuple(tokens[i] for i in parts.data) == parsed.data
    assert tuple(tokens[i] for i in parts.keys) == parsed.keys
    assert tuple(tokens[i] for i in parts.queries) == parsed.queries
    assert text == sample(task, seed)
    assert len(solve(kind, tokens, NOISE if noise else ())) == len(parts.queries)


def test_noise_that_looks_like_data_is_data_where_there_is_no_noise() -> None:
    tokens = ["<sos>", "~0", "1", "<sep>", "1", "<eos>"]
    assert find_parts(Task("indirect", 1, 4), tokens) == Parts((1,), (2,), (4,))


def test_models_offers_what_was_named_first_and_reads_nothing_else(tmp_path: Path) -> None:
    mine = untrained("PI1-4", "permneti", "attn")
    save(tmp_path / "mine", mine.model, mine.run, mine.vocab, {})
    models = Models([str(tmp_path / "mine"), "pi10"])
    names = [row["name"] for row in models.listed()]
    assert names[:2] == [str(tmp_path / "mine"), "PI10"]
    assert sorted(names[1:]) == sorted({*shipped()} - {DISPATCH})
    kinds = [row["kind"] for row in Models().listed()]
    assert kinds[0] == "indirect"  # which has most to show
    assert models.listed()[0]["without"] == "attn"
    assert models["PI10"] is models["PI10"]
    save(tmp_path / "other", mine.model, mine.run, mine.vocab, {})
    for name in ("", "pi10", str(tmp_path / "other"), "../checkpoints/PI10"):
        with pytest.raises(PermnetError, match="unknown model"):
            models[name]


class Scripts(HTMLParser):
    """The contents of a page's scripts and styles, and every address in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.inside, self.found, self.addresses = "", [], []
        self.policy = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.addresses += [values[name] for name in ("src", "href") if name in values]
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        self.inside = tag if tag in ("script", "style") else ""
        if self.inside and values.get("type") == "application/json":
            self.inside = "data"

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside:
            self.found.append((self.inside, data))


def test_the_exported_page_needs_nothing_and_runs_only_its_own_script(tmp_path, capsys) -> None:
    path = tmp_path / "page.html"
    question = "<script>alert(1)</script> x7 lion </script> owl 19 <sep> 19 x7 </script>"
    arguments = ["explore", "--export", str(path), "--model", "PI1-4", "--example", question]
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"{path}\n"
    page = Scripts(path.read_text())
    assert page.addresses == ["data:,"]
    assert [kind for kind, _ in page.found] == ["style", "data", "script"]
    for kind, content in page.found:
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        if kind != "data":
            assert f"{kind}-src 'sha256-{digest}'" in page.policy
    told = json.loads(page.found[1][1])["records"][0]
    expected = json.loads(json.dumps(record(load("PI1-4"), question)))
    assert told == expected | {"seconds": told["seconds"]}
    assert main(arguments) == 2
    assert "exists" in capsys.readouterr().err
    assert main([*arguments, "--force"]) == 0


def test_an_export_without_a_model_takes_the_one_for_the_question(tmp_path) -> None:
    path = tmp_path / "page.html"
    assert main(["explore", "--export", str(path), "--example", DIRECT]) == 0
    told = json.loads(Scripts(path.read_text()).found[1][1])
    assert [model["architecture"] for model in told["models"]] == ["permnetd"]


def test_nothing_baked_can_leave_its_element() -> None:
    page = bake({"models": [], "records": ["</script><script>alert(1)</script><!--"]})
    assert page.count("</script>") == 2
    assert not re.search(r"alert\(1\)</script>", page)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--export", "x.html"], "--example"),
        (["--example", "a 1 <sep> 1"], "--export"),
        (["--export", "x.html", "--example", "a 1"], "one <sep>"),
        (["--export", "x.html", "--model", "PI11", "--example", "a 1 <sep> 1"], "did you mean"),
        (["--export", "/nowhere/x.html", "--example", "a 1 <sep> 1"], "cannot write /nowhere"),
        (["--port", "65536"], "port is 0 to 65535"),
        (["--host", "256.0.0.1", "--no-browser"], "cannot listen on 256.0.0.1"),
        (["--model", "nothing", "--no-browser", "--port", "0"], "unknown model"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments, message, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explore", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert not list(tmp_path.iterdir())


def test_the_commands_of_the_documentation_work(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "explore.md").read_text()
    commands = re.findall(r"^\$ permnet (plot .*|explore --export .*)$", text, re.M)
    commands = [shlex.split(command) for command in commands if "runs/" not in command]
    assert len(commands) == 4
    for command in commands:
        assert main(command) == 0
        assert Path(
            command[command.index("--out" if "--out" in command else "--export") + 1]
        ).exists()
    (block,) = re.findall(r"```python\n(.*?)```", text, re.S)
    exec(block, {})
    assert Path("m_dp.pdf").exists()


def test_without_fastapi_it_says_what_to_install_and_still_exports(tmp_path) -> None:
    code = (
        "import importlib.util as u, sys; real = u.find_spec\n"
        "u.find_spec = lambda n: None if n == 'fastapi' else real(n)\n"
        "sys.modules['fastapi'] = None\n"
        "from permnet.cli import main\n"
        "raise SystemExit(main(sys.argv[1:]))"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, "explore", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    served = run("--no-browser")
    assert served.returncode == 2
    assert "pip install 'permnet[explore]'" in served.stderr
    exported = run("--export", str(tmp_path / "page.html"), "--example", INDIRECT)
    assert (exported.returncode, exported.stderr) == (0, "")
