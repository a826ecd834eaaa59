"""The files that make up the page."""

from importlib.resources import files


def page_files() -> dict[str, str]:
    """The page, its style and its scripts, by name."""
    folder = files("permnet.explore") / "static"
    return {file.name: file.read_text("utf-8") for file in folder.iterdir()}
