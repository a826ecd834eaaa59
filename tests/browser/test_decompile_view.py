"""The Decompile view in a browser, with a decompiler that answers from a table, and the shipped."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from permnet.decompiling.pipeline import Pipeline
from permnet.explore.export import export_program
from permnet.explore.models import Models
from permnet.explore.program import candidates, program
from permnet.explore.server import application
from tests.programs import APPENDIX, APPENDIX_C, REFUSED, SWAPPED_C, pipeline
from tests.serving import running

ASSEMBLY, C = "#assembly-lines li", ".function .code li"


@pytest.fixture
def page(new_page, address) -> Page:
    page = new_page()
    page.goto(f"{address}#decompile")
    expect(page.locator("#examples option")).to_have_count(5)
    page.select_option("#decompiler", "table")
    return page


def lit(page: Page, lines: str) -> list[int]:
    """The numbers, from 1, of the lines that are lit."""
    return page.locator(lines).evaluate_all(
        "all => all.flatMap((line, i) => line.classList.contains('lit') ? [i + 1] : [])"
    )


def maps_both_ways(page: Page, pairs: list[tuple[int, int]], some: int | None = None) -> None:
    assert pairs
    for c, line in pairs[:some]:
        page.locator(C).nth(c - 1).hover()
        assert lit(page, C) == [c]
        assert lit(page, ASSEMBLY) == sorted({to for other, to in pairs if other == c})
        page.locator(ASSEMBLY).nth(line - 1).hover()
        assert lit(page, ASSEMBLY) == [line]
        assert lit(page, C) == sorted({other for other, to in pairs if to == line})


def test_the_appendix_is_decompiled_and_mapped(page: Page) -> None:
    assert page.locator("#assembly").input_value() == APPENDIX
    page.click("#decompile-it")
    expect(page.locator(".function .verified")).to_contain_text("✓ verified")
    expect(page.locator(".function .verified")).to_contain_text("confidence 99.9 %")
    assert page.locator(C).all_text_contents() == APPENDIX_C.splitlines()
    assert page.locator(ASSEMBLY).all_text_contents() == APPENDIX.splitlines()
    maps_both_ways(page, program(pipeline(), APPENDIX)["functions"][0]["map"])


def test_the_shipped_model_decompiles_the_appendix(page: Page) -> None:
    page.select_option("#decompiler", "switch-20")
    page.click("#decompile-it")
    expect(page.locator(".function .verified")).to_contain_text("✓ verified", timeout=60_000)
    assert page.locator(C).all_text_contents() == APPENDIX_C.splitlines()
    maps_both_ways(page, program(Pipeline.load("switch-20"), APPENDIX)["functions"][0]["map"])


def test_the_map_by_keyboard(page: Page) -> None:
    page.click("#decompile-it")
    mapped = page.locator(".function .code li.mapped")
    expect(mapped.first).to_be_visible()
    mapped.first.focus()
    first = lit(page, C)
    page.keyboard.press("ArrowDown")
    assert lit(page, C) != first
    assert len(lit(page, ASSEMBLY)) == 1
    page.keyboard.press("Home")
    assert lit(page, C) == first


def test_other_answers_can_be_looked_at(page: Page) -> None:
    page.click("#decompile-it")
    page.get_by_role("button", name="Other answers").click()
    best = page.locator(".best button")
    expect(best).to_have_count(2)
    assert "✓" in best.nth(0).inner_text()
    assert "unverified" in best.nth(1).inner_text()
    best.nth(1).click()
    expect(best.nth(1)).to_have_attribute("aria-pressed", "true")
    assert page.locator(C).all_text_contents() == SWAPPED_C.splitlines()
    expect(page.locator(".function .unverified")).to_be_visible()
    maps_both_ways(page, candidates(pipeline(), APPENDIX, 0)["candidates"][1]["map"], some=4)


def test_pasted_text_files_and_what_is_refused(page: Page, tmp_path: Path) -> None:
    page.fill("#assembly", "<img src=x onerror=alert(1)>")
    page.click("#decompile-it")
    expect(page.locator("#decompile-problem")).to_contain_text("no function")
    program = tmp_path / "two.s"
    program.write_text(APPENDIX + REFUSED)
    page.set_input_files("#file", program)
    expect(page.locator("#assembly")).to_have_value(APPENDIX + REFUSED)
    page.click("#decompile-it")
    expect(page.locator(".function")).to_have_count(2)
    expect(page.locator(".function .problem")).to_contain_text("outside the domain")
    page.click("#edit")
    expect(page.locator("#assembly")).to_be_visible()
    expect(page.locator(".function")).to_have_count(0)
    large = tmp_path / "large.s"
    large.write_text("\n" * 200_001)
    page.set_input_files("#file", large)
    expect(page.locator("#decompile-problem")).to_contain_text("at most 200000")


def test_a_dropped_file_is_read(page: Page) -> None:
    transfer = page.evaluate_handle(
        """text => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([text], "dropped.s"));
            return transfer;
        }""",
        APPENDIX,
    )
    page.select_option("#examples", "")
    expect(page.locator("#assembly")).to_have_value("")
    page.dispatch_event("#drop", "drop", {"dataTransfer": transfer})
    expect(page.locator("#assembly")).to_have_value(APPENDIX)


class WithoutDecompiler(Models):
    def listed(self):
        return [row for row in super().listed() if row["kind"] is not None]


def test_without_a_decompiler_the_view_says_so(new_page) -> None:
    with running(application(WithoutDecompiler())) as port:
        page = new_page()
        page.goto(f"http://127.0.0.1:{port}/#decompile")
        expect(page.locator("#no-decompiler")).to_contain_text("permnet explore --model FOLDER")
        expect(page.locator("#decompile-it")).to_be_disabled()
        page.close()


def test_the_exported_program_opens_from_disk(new_page, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(export_program(pipeline(), APPENDIX))
    page = new_page()
    page.goto(path.as_uri())
    assert page.locator(C).all_text_contents() == APPENDIX_C.splitlines()
    maps_both_ways(page, program(pipeline(), APPENDIX)["functions"][0]["map"], some=3)
    page.get_by_role("button", name="Other answers").click()
    expect(page.locator(".best button")).to_have_count(2)
    expect(page.locator("#tab-resolve")).to_be_hidden()
