"""Where results come from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import permnet
from permnet import provenance


def test_the_code_s_digest_is_the_shell_s() -> None:
    command = (
        "find . -name '*.py' | cut -c3- | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c-64"
    )
    folder = Path(permnet.__file__).parent
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True)
    assert provenance.source_sha256() == done.stdout.strip()
    assert provenance.provenance(torch.device("cpu"))["source_sha256"] == done.stdout.strip()


def test_the_digest_changes_with_any_file_and_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    (tmp_path / "part").mkdir()
    (tmp_path / "one.py").write_text("a")
    (tmp_path / "part" / "two.py").write_text("b")
    (tmp_path / "notes.txt").write_text("c")
    digest = provenance.source_sha256.__wrapped__
    digests = [digest()]
    (tmp_path / "notes.txt").write_text("d")
    assert digest() == digests[0]
    (tmp_path / "one.py").write_text("ab")
    digests.append(digest())
    os.rename(tmp_path / "one.py", tmp_path / "part" / "one.py")
    digests.append(digest())
    assert len(set(digests)) == 3


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["/usr/bin/permnet", "train", "PI10"], "permnet train PI10"),
        (["/src/permnet/__main__.py", "sweep", "a b"], "permnet sweep 'a b'"),
        (
            ["permnet", "eval", "/home/me/run", "--out=/data/x.json", "a/b"],
            "permnet eval run --out=x.json a/b",
        ),
    ],
)
def test_the_command_is_what_was_typed_without_the_machines_folders(
    typed: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", typed)
    assert provenance.invocation() == said
