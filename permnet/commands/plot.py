"""`permnet plot`: pictures of what is inside a trained model."""

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from permnet.commands.files import replacing
from permnet.errors import PermnetError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Picture = Literal["m_dp", "roles", "index-embedding", "curves"]


def plot(
    picture: Positional[Picture],
    runs: Positional[Annotated[tuple[Path, ...], arg(metavar="[RUN ...]")]] = (),
    /,
    *,
    out: Path,
    model: str | None = None,
    example: str | None = None,
    force: bool = False,
) -> int:
    """Draw a picture of a trained model, or learning curves, as PNG, SVG or PDF.

    m_dp and roles show what a PermNetI found in a question, index-embedding what a PermNetD has
    learned, curves how runs were trained.

    For example:

        permnet plot m_dp --model PI20 --out m_dp.png
        permnet plot roles --model PI1-4 --example "a 2 b 1 c 3 <sep> 1 3 2" --out roles.svg
        permnet plot index-embedding --model PD10 --out index.pdf
        permnet plot curves runs/pi10 results/runs/permneti-PI10-seed0.json --out curves.png

    Args:
        picture: Which one.
        runs: For curves: runs' folders or result files.
        out: The file to write; how its name ends says in which format.
        model: A shipped model or a checkpoint's folder.
        example: The question; the first of the model's validation split unless given.
        force: Overwrite the file if it exists.
    """
    if find_spec("matplotlib") is None:
        raise PermnetError("plot needs matplotlib: pip install 'permnet[plot]'")
    if example is not None and picture not in ("m_dp", "roles"):
        raise PermnetError(f"--example is for m_dp and roles, not {picture}")
    from permnet import plot as pictures

    # Of letters that no font has matplotlib says so in warnings.
    with (
        replacing(out, force) as file,
        warnings.catch_warnings(record=True, action="always") as told,
    ):
        pictures.write(_figure(picture, runs, model, example), out, file=file)
    for message in dict.fromkeys(str(warning.message) for warning in told):
        print(f"permnet: warning: {message}", file=sys.stderr)
    print(out)
    return 0


def _figure(
    picture: Picture, runs: tuple[Path, ...], model: str | None, example: str | None
) -> "Figure":
    from permnet import plot as pictures
    from permnet.checkpoint import load

    if picture == "curves":
        if model is not None or not runs:
            raise PermnetError("curves are of runs: name their folders or result files")
        return pictures.learning_curves(runs)
    if runs or model is None:
        raise PermnetError(f"{picture} is a picture of a model: name one with --model")
    if picture == "index-embedding":
        return pictures.index_embedding(load(model))
    draw = pictures.m_dp if picture == "m_dp" else pictures.roles
    return draw(load(model), example)
