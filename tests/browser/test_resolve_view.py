"""The Resolve view in a browser: what is seen is what the model computed."""

import json
import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from permnet.cli import main
from permnet.explore.models import Models
from permnet.explore.record import record, sample
from permnet.explore.server import application
from tests.serving import running

QUESTION = "a 2 b 1 c 3 <sep> 1 3 2"
DICT = "e 6 i 1 f 5 b 4 h 8 g 10 d 7 c 3 a 9 j 2 <sep> 8 9 8 6 10 2 10 1 8 7"


def choose(page: Page, name: str, beside: str = "") -> None:
    # Each choice is a question, and its answer takes the place of one that looks the same.
    for field, value in (("#model", name), ("#beside", beside)):
        if page.input_value(field) != value:
            page.select_option(field, value)
    expect(page.locator(".panel .name")).to_have_text([name, beside] if beside else [name])


def question(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.press("#text", "Enter")
    expect(page.locator(".panel .tokens.input").first).to_have_text(
        "".join(["<sos>", *text.split(), "<eos>"])
    )


def tokens(page: Page, which: str, panel: int = 0) -> list[str]:
    chips = page.locator(".panel").nth(panel).locator(f".tokens.{which} .token")
    return chips.evaluate_all("chips => chips.map(c => c.firstChild.textContent)")


def marked(page: Page, panel: int = 0) -> tuple[int, int]:
    canvas = page.locator(".panel").nth(panel).locator(".matrix canvas")
    return int(canvas.get_attribute("data-row")), int(canvas.get_attribute("data-column"))


@pytest.fixture
def page(new_page, address) -> Page:
    page = new_page()
    page.goto(address)
    expect(page.locator(".tokens.output .token").first).to_be_visible()
    return page


def test_a_typed_question_is_answered(page: Page, models) -> None:
    choose(page, "PI1-4")
    question(page, QUESTION)
    assert tokens(page, "output") == ["b", "c", "a", "<eos>"]
    expect(page.locator(".verdict")).to_contain_text("✓")
    chip = page.locator(".tokens.input .token").nth(1)
    chip.hover()
    shares = re.findall(r"[\d.]+(?= %)", page.locator("#tip").inner_text())
    told = record(models["PI1-4"], QUESTION)
    assert len(shares) == 4
    assert sum(map(float, shares)) == pytest.approx(100, abs=0.3)
    assert told["tokens"][1] == "a"
    chip.focus()  # the same for those who do not point
    assert "DATA" in chip.get_attribute("aria-label")


@pytest.mark.parametrize("name", ["PI1-4", "PI10", "PI20"])
def test_pointing_at_an_output_marks_the_maxima_of_the_record(page: Page, models, name) -> None:
    text = sample(models[name].task, 3)
    choose(page, name)
    question(page, text)
    told = record(models[name], text)
    for t, way in enumerate(told["ways"][:-1]):
        page.locator(".tokens.output .token").nth(t).hover()
        expect(page.locator("#step-text")).to_contain_text(f"{t + 1} of")
        for picture, cell in {
            "m_dp": (way["datum"], way["query"]),
            "m_dk": (way["datum"], way["key"]),
            "m_kp": (way["key"], way["query"]),
        }.items():
            if t < 2 or picture == "m_dp":
                page.locator(".matrix select").select_option(picture)
                assert marked(page) == cell
        page.locator(".matrix select").select_option("m_dp")
        arcs = page.locator(".strip path.own").evaluate_all(
            "paths => paths.map(p => [Number(p.dataset.from), Number(p.dataset.to)])"
        )
        assert arcs == [[way["query"], way["key"]], [way["key"], way["datum"]]]
        for part in ("query", "key", "datum"):
            chips = page.locator(f".tokens.input .token.{part}")
            assert chips.all_inner_texts() == [told["tokens"][way[part]]]


def test_the_cell_marked_has_the_colour_of_its_value(page: Page, models) -> None:
    text = sample(models["PI10"].task, 3)
    choose(page, "PI10")
    question(page, text)
    page.locator(".tokens.output .token").nth(4).hover()
    row, column = marked(page)
    painted, expected = page.evaluate(
        """([row, column]) => {
            const shown = resolveView.panels[0].shown;
            const canvas = document.querySelector(".matrix canvas");
            const box = canvas.getBoundingClientRect();
            // Walk over the picture until the pointer is in the cell, as a person would.
            for (let y = 0; y < box.height; y++) for (let x = 0; x < box.width; x++) {
                const [hit, next] = [shown.hit(x, y), shown.hit(x + 8, y + 8)].map(String);
                if (hit === `${row},${column}` && next === hit) {
                    const ratio = canvas.width / box.width;
                    const data = canvas.getContext("2d")
                        .getImageData((x + 4) * ratio, (y + 4) * ratio, 1, 1).data;
                    const [low, high] = shown.matrix.range;
                    const share = (shown.matrix.at(row, column) - low) / (high - low);
                    return [[...data].slice(0, 3), colour(share)];
                }
            }
        }""",
        [row, column],
    )
    assert painted == expected


def test_the_scale_grows_lighter_all_the_way(page: Page) -> None:
    shades = page.evaluate("Array.from({length: 101}, (_, i) => colour(i / 100))")
    lightness = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in shades]
    assert lightness == sorted(lightness)
    for blind in ((0.11, 0.89), (0.29, 0.71)):  # without red or without green cones, roughly
        seen = [blind[0] * r + blind[1] * g for r, g, _ in shades]
        assert seen == sorted(seen)


def test_the_slider_walks_through_the_steps_by_keyboard(page: Page, models) -> None:
    text = sample(models["PI10"].task, 5)
    choose(page, "PI10")
    question(page, text)
    told = record(models["PI10"], text)
    page.focus("#step")
    before = page.locator(".bars canvas").first.get_attribute("aria-label")
    for t, token in enumerate(told["output"][1:], 1):
        page.keyboard.press("ArrowRight")
        expect(page.locator("#step-text")).to_have_text(f"{t + 1} of 11: {token}")
        current = page.locator(".tokens.output [aria-current]")
        assert current.all_inner_texts() == [token]
        rows = page.locator(".logits tbody tr")
        assert rows.locator("th").first.inner_text() == token
    assert page.locator(".bars canvas").first.get_attribute("aria-label") != before
    page.keyboard.press("Home")
    expect(page.locator("#step-text")).to_contain_text("1 of 11")
    vocabulary, resolver, total = (
        float(page.locator(".logits tbody td").nth(i).inner_text().replace("−", "-"))
        for i in range(3)
    )
    assert vocabulary + resolver == pytest.approx(total, rel=0.01)


def test_play_goes_on_by_itself(page: Page) -> None:
    choose(page, "PI10")
    page.click("#play")
    expect(page.locator("#step-text")).to_contain_text("3 of 11")
    page.click("#play")
    expect(page.locator("#play")).to_have_text("Play")


def test_everything_is_reached_with_the_tab_key_and_shows_it(page: Page) -> None:
    choose(page, "PI1-4")
    page.focus("#tab-resolve")
    reached = []
    for _ in range(11):
        reached.append(
            page.evaluate(
                """() => {
                    const node = document.activeElement, { outline } = getComputedStyle(node);
                    const group = node.closest("[role=group]");
                    const name = node.id || group?.ariaLabel || node.tagName;
                    return outline.includes("solid 2px") ? name : `${name}: ${outline}`;
                }"""
            )
        )
        page.keyboard.press("Tab")
    assert reached[:1] == ["tab-resolve"] or reached[0] is False  # focus by script shows no ring
    assert reached[1:6] == ["model", "beside", "text", "sample", "BUTTON"]
    assert reached[6:] == ["step", "play", "input tokens", "output tokens", "SELECT"]
    page.locator(".tokens.output .token").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#step-text")).to_contain_text("2 of")
    page.locator("#tab-resolve").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#decompile")).to_be_visible()
    expect(page.locator("#resolve")).to_be_hidden()


def test_two_models_side_by_side_and_wrong_outputs_marked(page: Page, models) -> None:
    choose(page, "PI_DICT", "PI10")
    question(page, DICT)
    told = record(models["PI10"], DICT)
    assert told["output"] != told["expected"]  # PI10 never saw a query twice
    assert tokens(page, "output", 0) == told["expected"]
    assert tokens(page, "output", 1)[: len(told["output"])] == told["output"]
    wrong = page.locator(".panel").nth(1).locator(".tokens.output .wrong small")
    due = [e for e, o in zip(told["expected"], told["output"], strict=False) if e != o]
    assert wrong.all_inner_texts()[: len(due)] == due
    expect(page.locator(".verdict").nth(1)).to_contain_text("✗")
    page.locator(".panel").nth(1).locator(".tokens.output .token").nth(3).hover()
    for panel in (0, 1):  # both are at the same step
        current = page.locator(".panel").nth(panel).locator(".output [aria-current]")
        assert current.get_attribute("aria-label").split(",")[0].endswith("step 4")
    left, right = (page.locator(".panel").nth(i).bounding_box() for i in (0, 1))
    assert left["x"] + left["width"] <= right["x"]
    page.select_option("#beside", "")
    expect(page.locator(".panel")).to_have_count(1)


def test_ablated_and_other_models_show_what_they_have(page: Page, models) -> None:
    names = [row["name"] for row in models.listed()]
    ablated = next(n for n in names if n.endswith("ablated"))
    gru = next(n for n in names if n.endswith("gru"))
    choose(page, "PI10", ablated)
    expect(page.locator(".about").nth(1)).to_contain_text("without m_d+m_k+m_p")
    expect(page.locator(".legend").nth(0)).to_be_visible()
    expect(page.locator(".legend").nth(1)).to_be_hidden()
    choose(page, gru)
    expect(page.locator(".matrix")).to_be_hidden()
    expect(page.locator(".logits tbody tr").first).to_be_visible()


def test_a_question_that_does_not_fit_is_explained(page: Page) -> None:
    choose(page, "PI1-4", "PD1-4")
    page.fill("#text", "a 1 b 2 <sep> 2 9")
    page.press("#text", "Enter")
    expect(page.locator(".panel .problem").first).to_contain_text("key '9' has no datum")
    expect(page.locator(".panel .problem").nth(1)).to_contain_text("out of range")
    expect(page.locator("#steps")).to_be_hidden()


def test_a_script_as_a_token_stays_a_token(page: Page) -> None:
    choose(page, "PI1-4")
    hostile = "<script>alert(1)</script> <img/src=x/onerror=alert(2)> '\"&amp; 19 <sep> 19"
    question(page, hostile + " <img/src=x/onerror=alert(2)>")
    assert tokens(page, "input")[1:-1] == [*hostile.split(), "<img/src=x/onerror=alert(2)>"]
    assert page.locator("#panels script, #panels img").count() == 0
    page.locator(".tokens.input .token").nth(2).hover()
    expect(page.locator("#tip")).to_contain_text("onerror=alert(2)")


def test_permnetd_shows_offset_array_and_antidiagonal(page: Page, models) -> None:
    text = sample(models["PD10"].task, 3)
    choose(page, "PD10")
    question(page, text)
    told = record(models["PD10"], text)
    way = told["ways"][2]
    page.locator(".tokens.output .token").nth(2).hover()
    start = way["datum"] - way["offset"]
    assert marked(page) == (start, way["offset"])
    cells = json.loads(page.locator(".matrix canvas").get_attribute("data-cells"))
    assert cells == [[way["datum"] - j, j] for j in range(min(10, way["datum"] + 1))]
    page.locator(".matrix select").select_option("index_embedding")
    token = told["names"].index(told["tokens"][way["query"]])
    assert marked(page) == (token, way["offset"])
    captions = page.locator(".bars figcaption").all_inner_texts()
    assert [c.partition(":")[0] for c in captions[:3]] == ["v_attn", "v_ind", "v_arr"]


def test_a_large_matrix_is_one_canvas(page: Page, models) -> None:
    large = next(r["name"] for r in models.listed() if r["name"].endswith("large"))
    choose(page, large)
    expect(page.locator(".readout")).to_contain_text("of 303 in its column")
    assert page.evaluate("document.querySelectorAll('*').length") < 2000
    page.focus("#step")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    ways = page.evaluate("resolveView.panels[0].record.ways")
    page.wait_for_function("step => resolveView.step === step", arg=len(ways) - 2)
    expect(page.locator("#step-text")).to_contain_text(str(len(ways) - 1))
    told = ways[-2]
    if told["datum"] is not None and told["query"] is not None:
        assert marked(page) == (told["datum"], told["query"])


@pytest.mark.parametrize(
    ("width", "height", "scheme"),
    [(1280, 800, "light"), (1280, 800, "dark"), (390, 844, "light"), (390, 844, "dark")],
)
def test_it_fits_screens_wide_and_narrow(new_page, address, width, height, scheme) -> None:
    page = new_page(width, height, scheme)
    page.goto(address)
    choose(page, "PI20", "PI10")
    expect(page.locator(".tokens.output .token").first).to_be_visible()
    for view in ("resolve", "decompile"):
        page.click(f"#tab-{view}")
        outside = page.locator("*").evaluate_all(
            f"all => all.filter(e => e.getBoundingClientRect().right > {width})"
            ".map(e => `${e.tagName} ${e.id} ${e.className}`)"
        )
        assert outside == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink, paper = page.evaluate(
        "(style => [style.color, style.backgroundColor])(getComputedStyle(document.body))"
    )
    bright = [sum(map(int, re.findall(r"\d+", shade)[:3])) for shade in (ink, paper)]
    assert (bright[0] < bright[1]) == (scheme == "light")
    assert abs(bright[0] - bright[1]) > 3 * 150


def test_the_export_opens_from_disk_and_works(new_page, models, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    arguments = ["explore", "--export", str(path), "--model", "PI_DICT", "PI10", "--example", DICT]
    assert main(arguments) == 0
    page = new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    expect(page.locator(".panel .name")).to_have_text(["PI_DICT", "PI10"])
    told = record(models["PI_DICT"], DICT)
    assert tokens(page, "output") == told["output"]
    page.focus("#step")
    page.keyboard.press("ArrowRight")
    assert marked(page) == (told["ways"][1]["datum"], told["ways"][1]["query"])
    expect(page.locator("#question")).to_be_hidden()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_the_screenshot_of_the_readme(new_page, tmp_path: Path) -> None:
    """`make screenshot` keeps it."""
    page = new_page()
    with running(application(Models())) as port:
        page.goto(f"http://127.0.0.1:{port}/")
        choose(page, "PI10")
        question(page, "d 8 b 9 g 6 j 10 e 5 i 4 a 3 c 2 f 1 h 7 <sep> 2 10 4 3 1 8 5 9 6 7")
        page.locator(".tokens.output .token").nth(3).click()
        page.mouse.move(0, 0)
        path = Path(os.environ.get("PERMNET_SCREENSHOT", tmp_path / "explore.png"))
        page.screenshot(path=path)
    assert 20_000 < path.stat().st_size < 300_000
