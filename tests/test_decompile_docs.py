"""The tables of docs/decompile.md say what the results say."""

from functools import partial

from permnet.tasks.switch.dataset import WIDE
from tests import pages
from tests.pages import ROOT, results

BASELINE, EXTENDED = "copy-decompiler switch-20", "decompiler switch-20"
SHIPPED = "permnet decompile"
SETS = ("switch-6", "switch-10", "switch-20")
PAGE = (ROOT / "docs" / "decompile.md").read_text()
table = partial(pages.table, PAGE)


def test_verification() -> None:
    found = results("verification")
    expected = [
        [kind, *(f"{row['verified']} of {row['altered']}" for row in rows)]
        for kind in found["assembly"]["kinds"]
        if (rows := [found[what]["kinds"][kind] for what in ("assembly", "objects")])
    ]
    whole = [found[what]["unaltered"] for what in ("assembly", "objects")]
    expected.append(["unaltered", *(f"{row['verified']:,} of {row['count']:,}" for row in whole)])
    assert table("verification") == expected


def test_decompilers() -> None:
    found = results("decompilers")["switch-10"]["rows"]
    rows = {name: row for name, row in found.items() if "validation" not in name}
    assert {row["count"] for row in rows.values()} == {1000}
    columns = ("switch", "partition", "skeleton", "same_c", "verified", "wrong_verified")
    expected = [
        [
            name,
            *("–" if row[column] is None else f"{row[column]:,}" for column in columns),
            f"{row['seconds_per_function']:.4f}",
        ]
        for name, row in rows.items()
    ]
    assert table("decompilers") == expected


def test_sizes() -> None:
    found = results("decompile")
    rows = {name: found[name]["rows"][SHIPPED] for name in found}
    columns = ("skeleton", "same_c", "verified", "wrong_verified")
    assert {row["count"] for row in rows.values()} == {1000}
    assert table("sizes") == [
        [name, *(f"{row[c]:,}" for c in columns), f"{row['seconds_per_function']:.2f}"]
        for name in (*SETS, WIDE)
        if (row := rows[name])
    ]


def test_verified_with_and_without_permneti() -> None:
    found = results("decompilers")
    with_it, without = (
        [found[name]["rows"][model]["verified"] for name in SETS] for model in (EXTENDED, BASELINE)
    )
    said = "{}, {} and {} are verified, for {}, {} and {} of the baseline"
    assert said.format(*with_it, *without) in " ".join(PAGE.split())


def test_readme() -> None:
    found = results("decompile")
    rows = [found[name]["rows"] for name in (*SETS, WIDE)]
    *verified, wide = (row[SHIPPED]["verified"] for row in rows)
    seconds = [rows[1][name]["seconds_per_function"] for name in ("angr", SHIPPED)]
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert "{}, {} and {} come back verified".format(*verified) in readme
    assert f"of 1,000 in a wider language, C as people write it, {wide};" in readme
    assert f"takes {seconds[0] / seconds[1]:.1f} times less CPU time than with angr" in readme


def test_called() -> None:
    found = results("called")
    rows = [found[what] for what in ("other_types", "guessed", "below")]
    assert [cell for _, cell in table("called")] == [
        f"{row['verified']} of {row['count']}" for row in rows
    ]
    assert len(found["other_types"]["rows"]) == 13
    assert found["below"]["true_c_verified"] == found["below"]["count"]


def test_rules() -> None:
    found = results("decompilers")
    rows = {name: found[name]["rows"]["rules, validation split"] for name in found}
    assert table("rules") == [
        [name, f"{rows[name]['skeleton']:,} of {rows[name]['count']:,}"] for name in SETS
    ]


def test_pair() -> None:
    expected = []
    for trained, scored in (
        ("switch-20", ("switch-6", "switch-10", "switch-20")),
        ("switch-6-raw", ("switch-6-raw",)),
    ):
        runs = [wea(f"{model}-{trained}-seed0") for model in ("copy-decompiler", "decompiler")]
        expected += [[trained, on, *(run[on] for run in runs)] for on in scored]
    assert table("pair") == expected


def test_parts() -> None:
    runs = "copy-decompiler", "decompiler-plain", "decompiler-equal", "copy-decompiler-recall"
    expected = []
    for run in (*runs, "decompiler"):
        model, _, part = run.partition("decompiler")
        test = results(f"runs/{model}decompiler-switch-6-raw{part}-seed0")["test"]
        wrong = (1 - test[figure] for figure in ("wea", "skeleton"))
        expected.append([f"{1000 * share:.0f}" for share in wrong])
        assert test["count"] == 1000
    assert [row[1:] for row in table("parts")] == expected


def wea(name: str) -> dict[str, str]:
    """The figures of a run on each set."""
    run = results(f"runs/{name}")
    figures = {run["run"]["benchmark"]: run["test"], **run["tests"]}
    return {on: f"{100 * found['wea']:.1f}" for on, found in figures.items()}
