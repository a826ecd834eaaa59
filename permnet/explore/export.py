"""The page as one file with the answers baked in, which opens from disk without a server."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from permnet.decompiling.pipeline import Pipeline
from permnet.explore.models import Models
from permnet.explore.page import page_files
from permnet.explore.program import candidates, program
from permnet.explore.record import record


def export_question(models: Models, names: Sequence[str], text: str) -> str:
    """The page as it stands when these models have answered a question."""
    about = {row["name"]: row for row in models.listed()}
    return bake(
        {
            "models": [about[name] for name in names],
            "records": [record(models[name], text) for name in names],
        }
    )


def export_program(pipeline: Pipeline, text: str) -> str:
    """The page as it stands when a decompiler has answered, with all that it can still be asked."""
    told = program(pipeline, text)
    more = [
        [] if answer["error"] else candidates(pipeline, text, i)["candidates"]
        for i, answer in enumerate(told["functions"])
    ]
    return bake({"text": text, "program": told, "candidates": more})


def bake(data: dict[str, Any]) -> str:
    """The page with its style, its scripts and the data inside; nothing else may run in it."""
    files = page_files()
    page = files["index.html"]
    style = files["style.css"]
    page = page.replace('<link rel="stylesheet" href="style.css">', f"<style>{style}</style>")
    scripts = re.findall(r'<script src="(.+?)" defer></script>\n', page)
    page = re.sub(r'<script src=".+?" defer></script>\n', "", page)
    code = "\n".join(files[name] for name in scripts)
    policy = (
        f"default-src 'none'; script-src {_digest(code)}; style-src {_digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = page.replace(
        '<meta charset="utf-8">',
        f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">',
    )
    # No "<" in it, so that no token can end the element that holds it.
    told = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    baked = f'<script id="baked" type="application/json">{told}</script>\n<script>{code}</script>\n'
    return page.replace("</body>", f"{baked}</body>")


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
