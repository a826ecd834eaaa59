"""Chromium, a server with every kind of model, and pages in which nothing may go wrong."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, expect, sync_playwright

from permnet.build import build
from permnet.checkpoint import save
from permnet.config import ModelConfig, ModelName, Run
from permnet.explore.models import Models
from permnet.explore.server import application
from permnet.tasks.benchmarks import benchmark
from tests.programs import WithDecompiler
from tests.serving import running

expect.set_options(timeout=60_000)

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def untrained(folder: Path, where: str, name: ModelName, without: str | None = None) -> str:
    torch.manual_seed(2)
    run = Run(where, ModelConfig(name, embedding=16, hidden=8, without=without))
    task = benchmark(where).task
    save(folder, build(run.model, task.vocab(), task), run, task.vocab(), {})
    return str(folder)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """The shipped ones, a decompiler, and untrained ones in folders large, ablated and gru."""
    folder = tmp_path_factory.mktemp("models")
    return WithDecompiler(
        [
            untrained(folder / "large", "PI100", "permneti"),
            untrained(folder / "ablated", "PI10", "permneti", "m_d+m_k+m_p"),
            untrained(folder / "gru", "PI10", "gru"),
        ]
    )


@pytest.fixture(scope="session")
def address(models: Models) -> Iterator[str]:
    with running(application(models)) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Makes pages; at the end no script of theirs may have failed or been blocked."""
    opened: list[Page] = []
    trouble: list[str] = []

    def make(width: int = 1280, height: int = 800, scheme: str = "light") -> Page:
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
        page.on("console", lambda said: said.type == "error" and trouble.append(said.text))
        opened.append(page)
        return page

    yield make
    for page in opened:
        page.close()
    # The browser logs every answer that is an error, those the page knows how to take too.
    assert [line for line in trouble if not re.search("status of (400|503)", line)] == []
