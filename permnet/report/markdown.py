"""The report as RESULTS.md."""

from collections.abc import Iterable, Sequence

from permnet.report.content import INTRODUCTION, Section


def markdown(sections: Iterable[Section]) -> str:
    blocks = ["# Results", *INTRODUCTION]
    for section in sections:
        blocks.append(f"## {section.title}")
        if section.header:
            blocks.append(grid(section.header, section.rows))
        blocks.extend(section.notes)
    return "\n\n".join(blocks) + "\n"


def grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
