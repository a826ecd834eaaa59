"""The page's server: its files, the models' records, and limits on what it can be made to do."""

import asyncio
import functools
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from permnet.answers import task_of
from permnet.config import from_json
from permnet.ending import on_ending
from permnet.errors import PermnetError
from permnet.explore.models import Models
from permnet.explore.page import page_files
from permnet.explore.program import candidates, examples, program
from permnet.explore.record import record, sample

LARGEST_BODY = 256 * 1024  # bytes
LONGEST_TEXT = 16_000  # characters of a question; one of PI100 has under 2,000
AT_ONCE = 4  # inferences
PATIENCE = 10.0  # seconds for a body to arrive
CONNECTIONS = 256
LOOPBACK = ("127.0.0.1", "localhost", "::1")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}


@dataclass(frozen=True)
class Asked:
    """A question to a model."""

    model: str
    text: str


@dataclass(frozen=True)
class Sampled:
    """A question like those the model was trained on, wanted."""

    model: str
    seed: int


@dataclass(frozen=True)
class More:
    """Further answers to a function of a program, wanted."""

    model: str
    text: str
    function: int


class Refused(Exception):
    """A request that is not answered, with the status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def application(models: Models, hosts: tuple[str, ...] | None = LOOPBACK) -> ASGIApp:
    """The server as an ASGI application.

    `hosts` are the names it answers to: a page from elsewhere may point a name of its own at
    127.0.0.1. None for any.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(PermnetError, lambda _, error: _error(400, str(error)))
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(
        Exception, lambda _, error: _error(500, "the server failed: its terminal tells more")
    )
    places = threading.BoundedSemaphore(AT_ONCE)

    async def work(action: Callable[[], Any]) -> Response:
        """Runs an inference in a thread of its own, or says that all are taken."""
        if not places.acquire(blocking=False):
            raise Refused(503, f"busy with {AT_ONCE} questions: ask again in a moment")

        def run() -> Response:  # releases when it is done, whether or not anyone still waits
            try:
                return _json(action())
            finally:
                places.release()

        return await run_in_threadpool(run)

    # One route for each file of the page: no path leads anywhere else.
    for name, content in page_files().items():
        kind = TYPES[name.rpartition(".")[2]]
        path = "/" if name == "index.html" else f"/{name}"
        app.add_api_route(path, functools.partial(_file, content, kind), methods=["GET"])

    @app.get("/api/models")
    async def listed() -> Response:
        return _json(models.listed())

    @app.post("/api/sample")
    async def sampled(request: Request) -> Response:
        asked: Sampled = await _read(request, Sampled)
        if not 0 <= asked.seed < 2**32:
            raise PermnetError(f"seed is 0 to {2**32 - 1}, not {asked.seed}")
        return await work(lambda: {"text": sample(task_of(models[asked.model]), asked.seed)})

    @app.post("/api/resolve")
    async def resolve(request: Request) -> Response:
        asked: Asked = await _read(request, Asked)
        if len(asked.text) > LONGEST_TEXT:
            raise PermnetError(
                f"the text has {len(asked.text)} characters: at most {LONGEST_TEXT} are read"
            )
        return await work(lambda: record(models[asked.model], asked.text))

    @app.get("/api/examples")
    async def programs() -> Response:
        return _json(examples())

    @app.post("/api/decompile")
    async def decompile(request: Request) -> Response:
        asked: Asked = await _read(request, Asked)
        return await work(lambda: program(models.pipeline(asked.model), asked.text))

    @app.post("/api/candidates")
    async def more(request: Request) -> Response:
        asked: More = await _read(request, More)
        return await work(
            lambda: candidates(models.pipeline(asked.model), asked.text, asked.function)
        )

    return _Guard(app, hosts)


def serve(app: ASGIApp, sockets: list[Any]) -> None:
    """Answers until it is interrupted."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=3,
    )
    server = uvicorn.Server(config)
    with on_ending(lambda number: server.handle_exit(number, None)):  # of itself it leaves SIGHUP
        server.run(sockets=sockets)


async def _file(content: str, kind: str) -> Response:
    return Response(content, media_type=kind)


async def _read(request: Request, wanted: type[Any]) -> Any:
    """The request's body as one of the dataclasses above."""
    # A form of another site can send text, but not JSON without being asked whether it may.
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise Refused(415, "send application/json")
    body = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LARGEST_BODY:
                    raise Refused(413, f"a request holds at most {LARGEST_BODY} bytes")
    except TimeoutError:
        raise Refused(408, f"the request took longer than {PATIENCE:g} seconds to arrive") from None
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise PermnetError(f"the request is not JSON: {error}") from None
    return from_json(wanted, raw, "request")


def _json(value: Any, status: int = 200) -> Response:
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


def _error(status: int, message: str) -> Response:
    return _json({"error": message}, status)


def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, error.detail)


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    response = _error(error.status, str(error))
    if error.status == 503:
        response.headers["Retry-After"] = "1"
    return response


class _Guard:
    """Headers on every answer, and no answer to a host that this server is not."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...] | None) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
            await send(message)

        app: Callable[[Scope, Receive, Send], Awaitable[None]] = self.app
        if self.hosts is not None and _host(scope) not in self.hosts:
            app = _error(403, "this server answers to its own name only")
        return await app(scope, receive, send_guarded)


def _host(scope: Scope) -> str:
    """The name that the request was sent to, without its port."""
    sent = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    name = sent[: sent.rfind(":")] if sent.rfind(":") > sent.rfind("]") else sent
    return name.strip("[]").lower()
