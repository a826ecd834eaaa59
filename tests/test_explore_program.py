"""The Decompile view's part of the server, with a decompiler that answers from a table."""

import json
from pathlib import Path

import pytest

from permnet.cli import main
from permnet.decompiling.text import functions
from permnet.errors import PermnetError
from permnet.explore.export import export_program
from permnet.explore.models import Models
from permnet.explore.program import candidates, examples, program
from permnet.explore.server import application
from tests.programs import APPENDIX, APPENDIX_C, REFUSED, SWAPPED_C, WithDecompiler, pipeline
from tests.serving import running
from tests.test_explore_server import post

ROOT = Path(__file__).parent.parent


def test_the_examples_are_functions_and_the_first_is_the_paper_s() -> None:
    for example in examples():
        assert len(functions(example["text"])) == 1
    assert (ROOT / "examples" / "appendix.s").read_text() == APPENDIX


def test_a_program_is_told_as_the_command_prints_it() -> None:
    told = program(pipeline(), APPENDIX + REFUSED)
    first, second = told["functions"]
    assert (first["name"], first["c"], first["verified"]) == ("appendix", APPENDIX_C, True)
    assert first["skeleton"] == [[-62], [-46], [-30], [87], [-72], [-66]]
    assert all(1 <= c <= APPENDIX_C.count("\n") for c, _ in first["map"])
    assert all(1 <= line <= APPENDIX.count("\n") for _, line in first["map"])
    assert (second["name"], second["c"]) == ("g", None)
    assert "outside the domain" in second["error"]
    assert told["trouble"] is None
    json.dumps(told, allow_nan=False)


def test_candidates_come_most_likely_first_each_tried() -> None:
    found = candidates(pipeline(), APPENDIX, 0)["candidates"]
    assert [(one["c"], one["verified"]) for one in found] == [
        (APPENDIX_C, True),
        (SWAPPED_C, False),
    ]
    assert found[0]["confidence"] > found[1]["confidence"] > 0
    for number in (-1, 1):
        with pytest.raises(PermnetError, match="1 functions, there is no number"):
            candidates(pipeline(), APPENDIX, number)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "no function"), ("int main;", "no function"), (APPENDIX * 21, "the page takes 20")],
)
def test_texts_without_functions_or_with_too_many_are_refused(text, message) -> None:
    with pytest.raises(PermnetError, match=message):
        program(pipeline(), text)


def test_the_server_decompiles() -> None:
    with running(application(WithDecompiler())) as port:
        status, told = post(port, "/api/decompile", model="table", text=APPENDIX)
        assert (status, told["functions"][0]["c"]) == (200, APPENDIX_C)
        status, told = post(port, "/api/candidates", model="table", text=APPENDIX, function=0)
        assert (status, len(told["candidates"])) == (200, 2)
        for model, message in {"PI10": "not a decompiler", "no": "unknown model"}.items():
            status, told = post(port, "/api/decompile", model=model, text=APPENDIX)
            assert status == 400
            assert message in told["error"]


def test_a_model_of_questions_is_no_decompiler() -> None:
    with pytest.raises(PermnetError, match="PI10 is a permneti"):
        Models().pipeline("PI10")


def test_the_exported_page_holds_the_program_and_its_candidates() -> None:
    page = export_program(pipeline(), APPENDIX + REFUSED)
    told = json.loads(page.partition('application/json">')[2].partition("</script>")[0])
    assert told["text"] == APPENDIX + REFUSED
    assert [f["name"] for f in told["program"]["functions"]] == ["appendix", "g"]
    assert [len(found) for found in told["candidates"]] == [2, 0]


def test_a_file_without_a_decompiler_is_refused(tmp_path, capsys) -> None:
    (tmp_path / "f.s").write_text(APPENDIX)
    arguments = ["explore", "--export", str(tmp_path / "page.html"), "--example"]
    assert main([*arguments, str(tmp_path / "f.s"), "--model", "PI10"]) == 2
    assert "PI10 is a permneti" in capsys.readouterr().err
    assert main([*arguments, str(tmp_path / "f.s"), "--model", "switch-20", "PI10"]) == 2
    assert "one decompiler, not of switch-20 and PI10" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()
