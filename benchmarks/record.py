"""`results/speed.json`: a list of measurements, the latest of each kind on each machine."""

import json
from pathlib import Path
from typing import Any

KEY = ("preset", "what", "precision", "hardware")


def keep(path: Path, rows: list[dict[str, Any]]) -> None:
    """Add rows to the file; one of the same preset, kind, precision and machine gives way."""
    before = json.loads(path.read_text()) if path.exists() else []
    merged = {json.dumps([row[name] for name in KEY]): row for row in (*before, *rows)}
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(json.dumps(list(merged.values()), indent=1) + "\n")
    partial.replace(path)
