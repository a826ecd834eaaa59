"""The progress bar: for a terminal, and for nothing else."""

from permnet.display import progress_bar


def test_without_a_terminal_nothing_is_printed(capsys) -> None:
    with progress_bar(True) as show:
        show(1, 2, "half")
    assert capsys.readouterr() == ("", "")
