"""The tables of docs/switch.md say what was measured."""

from benchmarks.switch_data import DATA, LIMITS, measure_set, neighbours
from permnet.tasks.switch.dataset import CORE, LEAST, shipped
from permnet.tasks.switch.generate import generate
from tests.pages import ROOT, results, table

PAGE = (ROOT / "docs" / "switch.md").read_text()
FOUND = results("switch-data")
NAMES = [name if labels == "shuffled" else f"{name}-{labels}" for name, labels in DATA]
ROWS = {name: FOUND["sets"][name] for name in NAMES}


def test_the_data_are_those_that_ship() -> None:
    assert FOUND["compiler"] == shipped("switch-6").compiler
    assert {row["compiler"] for row in ROWS.values()} == {FOUND["compiler"]}


def test_properties() -> None:
    around, recompiled = FOUND["neighbours"], [ROWS[name]["recompiled"] for name in CORE]
    count, same = (sum(row[key] for row in recompiled) for key in ("count", "same"))
    assert [row[1:] for row in table(PAGE, "properties")] == [
        [f"the {count:,} test examples", str(count - same)],
        [f"{around['forms']:,} around {around['programs']} programs", str(around["shared"])],
        [f"{around['rewritten']:,}", str(around["changed"])],
    ]


def test_lengths() -> None:
    assert table(PAGE, "lengths") == [
        [
            name,
            *(" / ".join(f"{n:,}" for n in row["lengths"][side]) for side in ("assembly", "c")),
            f"{row['lengths']['numbers']:,}",
            f"{row['bytes'] / 2**20:.1f} MiB",
        ]
        for name, row in ROWS.items()
    ]


def test_unseen_tokens() -> None:
    assert table(PAGE, "unseen") == [
        [
            name,
            f"{found['tokens']:,}",
            f"{found['outputs']:,} of {found['count']:,}",
            f"{found['all_stand_in_the_assembly']:,}",
            str(found["most_lent"]),
            f"{100 * row['literal']:.1f} %",
        ]
        for name, row in ROWS.items()
        if (found := row["unseen"])["least"] == LEAST
    ]


def test_limits() -> None:
    columns = [ROWS[name]["limits"] for name in CORE]
    assert table(PAGE, "limits") == [
        [f"{least:,}", *(f"{found['tokens']:,}; {found['outputs']:,}" for found in at)]
        for least, *at in zip(LIMITS, *columns, strict=True)
    ]
    assert all([found["least"] for found in column] == [*LIMITS] for column in columns)


def test_reading() -> None:
    spelled = ("lacking", "lacking_as_read", "more_than_labels")
    assert table(PAGE, "read") == [
        [
            name,
            *(f"{row['spelled'][key]:,}" for key in spelled),
            *(f"{row['bare_returns'][key]:,}" for key in ("functions", "in_order")),
        ]
        for name, row in ROWS.items()
    ]


def test_it_is_measured_anew(tmp_path) -> None:
    generate(
        "switch-6", tmp_path, jobs=1, counts={"test": 8, "validation": 8, "train": 40}, batch=20
    )
    row = measure_set(tmp_path, "switch-6", "shuffled")
    assert row.keys() == ROWS["switch-6"].keys()
    assert row["recompiled"] == {"same": 8, "count": 8}
    assert neighbours(2)["shared"] == 0
