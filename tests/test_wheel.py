"""The wheel carries the trained models and works where it is installed."""

import os
import site
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_wheel_resolves_in_a_clean_environment(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("permnet-*.whl")
    home = tmp_path / "clean"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel],
        check=True,
        capture_output=True,
    )
    # torch and the like are borrowed from here; permnet is not, for the checkout is not on the way.
    borrowed = os.pathsep.join(p for p in site.getsitepackages() if Path(p).exists())
    done = subprocess.run(
        [home / "bin" / "permnet", "resolve", "a 1 b 2 c 3 <sep> 1 3 2"],
        env={**os.environ, "PYTHONPATH": borrowed},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "a c b\n", done.stderr
    subprocess.run(  # the page's files came along
        [home / "bin" / "permnet", "explore", "--export", "page.html", "--example", "a 1 <sep> 1"],
        env={**os.environ, "PYTHONPATH": borrowed},
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    where = subprocess.run(
        [python, "-c", "import permnet; print(permnet.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(home))
