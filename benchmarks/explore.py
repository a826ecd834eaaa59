"""How soon the explorer's page shows its first answer, and how fast it draws a step.

    python -m benchmarks.explore [--models PI1-4 PI20] [--out results/explore.json]

The page is opened in Chromium (see `make browser-test`), served by `permnet explore` on the same
machine. `first_answer_ms` runs from the start of the navigation until the model's first output
token is in the page, `drawn_ms` until everything is drawn: medians over visits but the first to a
new server, `first_visit_ms`. `step_ms` is the time of the script that draws one step: arcs, bars,
logits and matrix. PI100 is an untrained model of the paper's size, with matrices of 303 × 303.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import Browser, sync_playwright

from benchmarks.command import positive, run
from benchmarks.resolve import answering
from permnet.build import build
from permnet.checkpoint import describe, save
from permnet.config import ModelConfig, Run
from permnet.provenance import provenance
from permnet.tasks.benchmarks import benchmark
from tests.browser.conftest import CHROMIUM, FLAGS

WATCH = """
addEventListener("DOMContentLoaded", () => {
  const watch = new MutationObserver(() => {
    if (!document.querySelector(".tokens.output .token")) return;
    window.firstAnswer = performance.now();
    watch.disconnect();
    requestAnimationFrame(() => (window.drawn = performance.now()));
  });
  watch.observe(document.body, { childList: true, subtree: true });
});
"""
STEPS = """() => {
  const times = [];
  for (let step = 0; step < resolveView.panels[0].length; step++) {
    const began = performance.now();
    resolveView.go(step);
    times.push(performance.now() - began);
  }
  return times;
}"""


def visit(browser: Browser, address: str) -> tuple[float, float, list[float]]:
    """Milliseconds to the first answer and until it is drawn, and of each step."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.add_init_script(WATCH)
    page.goto(address)
    page.locator(".tokens.output .token").first.wait_for()
    page.wait_for_timeout(100)
    told = page.evaluate("[firstAnswer, drawn]")
    steps = page.evaluate(STEPS)
    page.close()
    return *told, steps


def measure(browser: Browser, model: str, name: str, rounds: int) -> dict[str, Any]:
    """The row of one model, with a server of its own."""
    command = [sys.executable, "-m", "permnet", "explore", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        [*command, "--model", model], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[0]
            first = visit(browser, address)
            later = [visit(browser, address) for _ in range(rounds)]
        finally:
            server.terminate()
    return {
        "model": name,
        "first_visit_ms": round(first[0]),
        "first_answer_ms": round(statistics.median(visit[0] for visit in later)),
        "drawn_ms": round(statistics.median(visit[1] for visit in later)),
        "step_ms": round(statistics.median(t for visit in later for t in visit[2]), 1),
        "rounds": rounds,
    }


def large(folder: Path) -> str:
    """An untrained PermNetI for PI100."""
    run = Run("PI100", ModelConfig("permneti", embedding=128, hidden=512))
    task = benchmark("PI100").task
    save(folder, build(run.model, task.vocab(), task), run, task.vocab(), {})
    return str(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=answering())
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    for name in args.models:
        describe(name)  # refuses what is no model before a server does
    rows = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        version = browser.version
        models = {name: name for name in args.models} | {"PI100": large(Path(folder) / "large")}
        for name, model in models.items():
            rows.append(measure(browser, model, name, args.rounds))
            print(rows[-1], flush=True)
        browser.close()
    if args.out:
        about = provenance(torch.device("cpu")) | {
            "chromium": version,
            "threads": os.environ.get("OMP_NUM_THREADS"),
            "load_average": os.getloadavg(),  # others may have been at work on the machine
        }
        args.out.write_text(json.dumps({"rows": rows, **about}, indent=1) + "\n")


if __name__ == "__main__":
    run(main)
