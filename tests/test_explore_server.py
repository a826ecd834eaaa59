"""The explorer's server under use, misuse and attack: real requests to a real server."""

import contextlib
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import uvicorn

from permnet.checkpoint import load
from permnet.commands.explore import is_loopback
from permnet.explore import server
from permnet.explore.models import Models
from permnet.explore.page import page_files
from permnet.explore.record import record, sample
from tests.serving import running

ROOT = Path(__file__).parent.parent
QUESTION = "a 2 b 1 c 3 <sep> 1 3 2"
Answer = tuple[int, dict[str, str], bytes]


@pytest.mark.parametrize(
    ("host", "private"),
    [
        ("127.0.0.1", True),
        ("127.0.0.2", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("192.168.1.2", False),
        ("::", False),
        ("localhost.evil.example", False),
    ],
)
def test_which_addresses_are_private(host: str, private: bool) -> None:
    assert is_loopback(host) == private


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running(server.application(Models())) as port:
        yield port


def send(
    port: int,
    path: str,
    body: bytes | str | None = None,
    *,
    method: str | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as to:
        headers = {"Content-Type": "application/json", **(headers or {})}
        to.request(method or ("GET" if body is None else "POST"), path, body, headers)
        answer = to.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()


def post(port: int, path: str, **fields: object) -> tuple[int, dict]:
    status, _, body = send(port, path, json.dumps(fields))
    return status, json.loads(body)


def alive(port: int) -> bool:
    status, told = post(port, "/api/resolve", model="PI1-4", text=QUESTION)
    return (status, told["output"]) == (200, ["b", "c", "a", "<eos>"])


def test_the_page_and_its_files_come_with_a_strict_policy(port: int) -> None:
    for name, content in page_files().items():
        status, headers, body = send(port, "/" if name == "index.html" else f"/{name}")
        assert (status, body.decode()) == (200, content)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
    assert "://" not in "".join(page_files().values()).replace("http://www.w3.org/2000/svg", "")
    for path in ("/nothing", "/api/resolve"):  # errors come with it too
        assert "default-src 'none'" in send(port, path)[1]["content-security-policy"]


def test_models_samples_and_records(port: int) -> None:
    names = [row["name"] for row in json.loads(send(port, "/api/models")[2])]
    assert "PI10" in names
    status, told = post(port, "/api/sample", model="PI10", seed=7)
    assert (status, told["text"]) == (200, sample(load("PI10").task, 7))
    status, answer = post(port, "/api/resolve", model="PI10", text=told["text"])
    expected = json.loads(json.dumps(record(load("PI10"), told["text"])))
    assert (status, answer) == (200, expected | {"seconds": answer["seconds"]})


@pytest.mark.parametrize(
    "path",
    [
        "/../record.py",
        "/%2e%2e/record.py",
        "/..%2frecord.py",
        "/static/../../record.py",
        "//etc/passwd",
        "/etc/passwd",
        "/style.css/../../server.py",
        "/style.css%00.js",
        "/..\\record.py",
        "/index.html",
        "/docs",
        "/openapi.json",
        "/" + "a" * 4000,
    ],
)
def test_no_path_leads_outside(port: int, path: str) -> None:
    status, _, body = send(port, path)
    assert status == 404
    assert b"import" not in body
    assert b"root:" not in body


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"null", "expected an object"),
        (b"[]", "expected an object"),
        (b'{"model": "PI10"}', "'text' is missing"),
        (b'{"model": "PI10", "text": 3}', "expected str"),
        (b'{"model": "PI10", "text": "", "more": 1}', "unknown field"),
        (b'{"model": "PI11", "text": "a 1 <sep> 1"}', "unknown model"),
        (b'{"model": "/etc", "text": "a 1 <sep> 1"}', "unknown model"),
        (b'{"model": "PI10", "text": "\\ud800 1 <sep> 1"}', "printable"),
        (b'{"model": "PI10", "text": "a\\u0000 1 <sep> 1"}', "printable"),
        (b'{"model": "PI10", "text": "a 1"}', "one <sep>"),
        (b'{"model": "PI10", "text": "' + b"a " * 8001 + b'"}', "at most 16000"),
    ],
)
def test_bad_requests_are_told_what_is_wrong(port: int, body: bytes, message: str) -> None:
    status, _, answer = send(port, "/api/resolve", body)
    assert status == 400
    assert message in json.loads(answer)["error"]


def test_seeds_have_their_limits(port: int) -> None:
    for seed in (-1, 2**32):
        status, told = post(port, "/api/sample", model="PI10", seed=seed)
        assert status == 400
        assert "seed is 0 to" in told["error"]


def test_a_body_has_its_limit_and_its_kind(port: int) -> None:
    status, _, body = send(port, "/api/resolve", b" " * (server.LARGEST_BODY + 1))
    assert (status, "at most" in json.loads(body)["error"]) == (413, True)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert send(port, "/api/resolve", b"{}", headers={"Content-Type": kind})[0] == 415
    assert send(port, "/api/resolve", method="DELETE")[0] == 405
    assert alive(port)


def test_it_answers_to_its_own_name_only(port: int) -> None:
    for host in ("127.0.0.1", "localhost", f"LOCALHOST:{port}", f"[::1]:{port}"):
        assert send(port, "/api/models", headers={"Host": host})[0] == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost@evil.example:1", ""):
        status, headers, body = send(port, "/api/models", headers={"Host": host})
        assert (status, b"PI10" in body) == (403, False)
        assert "content-security-policy" in headers
    with running(server.application(Models(), hosts=None)) as anyone:
        assert send(anyone, "/api/models", headers={"Host": "my.machine"})[0] == 200


def test_strings_come_back_as_data(port: int) -> None:
    hostile = "<script>alert(1)</script> \"'&<img/src=x> </script> 19 <sep> 19 \"'&<img/src=x>"
    status, headers, body = send(
        port, "/api/resolve", json.dumps({"model": "PI1-4", "text": hostile})
    )
    assert status == 200
    assert headers["content-type"] == "application/json"
    told = json.loads(body)
    assert told["tokens"][1:-1] == hostile.split()
    assert told["output"][:2] == ["</script>", "<script>alert(1)</script>"]


def test_more_than_a_few_at_once_are_told_to_wait(monkeypatch) -> None:
    begun, go_on = threading.Semaphore(0), threading.Event()

    def slow(trained, text):
        begun.release()
        assert go_on.wait(60)
        return {"output": []}

    monkeypatch.setattr(server, "record", slow)
    with running(server.application(Models())) as port, ThreadPoolExecutor(8) as pool:
        ask = {"model": "PI1-4", "text": QUESTION}
        try:
            under_way = [
                pool.submit(post, port, "/api/resolve", **ask) for _ in range(server.AT_ONCE)
            ]
            for _ in under_way:
                assert begun.acquire(timeout=60)
            status, headers, body = send(port, "/api/resolve", json.dumps(ask))
            assert (status, headers["retry-after"]) == (503, "1")
            assert "ask again" in json.loads(body)["error"]
            assert send(port, "/")[0] == 200  # the page itself is always there
        finally:
            go_on.set()
        assert [answer.result()[0] for answer in under_way] == [200] * server.AT_ONCE
        assert post(port, "/api/resolve", **ask)[0] == 200


def test_a_failure_is_said_and_survived(monkeypatch, capfd) -> None:
    def broken(trained, text):
        raise RuntimeError("out of ideas")

    with running(server.application(Models())) as port:
        with monkeypatch.context() as patch:
            patch.setattr(server, "record", broken)
            for _ in range(server.AT_ONCE + 1):  # each gives its place back
                ask = json.dumps({"model": "PI1-4", "text": QUESTION})
                status, headers, body = send(port, "/api/resolve", ask)
                assert (status, "ideas" in body.decode()) == (500, False)
                assert "the server failed" in json.loads(body)["error"]
                assert "content-security-policy" in headers
        assert alive(port)


def test_it_stays_up_under_fifty_at_once(port: int) -> None:
    with ThreadPoolExecutor(50) as pool:
        answers = list(
            pool.map(
                lambda i: post(
                    port, "/api/resolve", model=("PI1-4", "PD1-4")[i % 2], text=QUESTION
                ),
                range(50),
            )
        )
    assert {status for status, _ in answers} <= {200, 400, 503}
    assert any(status == 200 for status, _ in answers)
    for status, told in answers:
        assert ("output" if status == 200 else "error") in told
    assert alive(port)


def test_dropped_connections_leave_nothing_behind(port: int) -> None:
    body = json.dumps({"model": "PI10", "text": sample(load("PI10").task, 0)}).encode()
    head = (
        b"POST /api/resolve HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    whole = head + body
    for i in range(40):
        with socket.create_connection(("127.0.0.1", port)) as drop:
            drop.sendall(whole[: len(whole) * i // 39] or b"G")
            # Closed with a reset, as by a cable that is pulled.
            drop.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with socket.create_connection(("127.0.0.1", port)) as junk:
        junk.sendall(b"\x16\x03\x01\x02\x00\r\n\r\n")
        assert junk.recv(100).startswith(b"HTTP/1.1 400")
    assert alive(port)


def test_a_body_that_never_comes_is_not_waited_for(monkeypatch) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.05)
    with (
        running(server.application(Models())) as port,
        socket.create_connection(("127.0.0.1", port)) as stalled,
    ):
        stalled.sendall(
            b"POST /api/resolve HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{"
        )
        assert stalled.recv(100).startswith(b"HTTP/1.1 408")


def test_the_command_serves_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "permnet", "explore", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        said = run.stdout.readline()
        assert said.startswith("http://127.0.0.1:")
        port = int(said.split("/")[2].split(":")[1])
        assert alive(port)
        with pytest.raises(ConnectionRefusedError):  # on loopback alone
            socket.create_connection((_address_of_this_machine(), port), timeout=5).close()
        taken = [*command[:-1], str(port)]
        second = subprocess.run(taken, cwd=ROOT, capture_output=True, text=True, check=False)
        assert second.returncode == 2
        assert "choose another with --port" in second.stderr
        os.kill(run.pid, signal.SIGINT)
        assert run.wait(60) in (0, 130)
        assert run.stderr.read() == ""


def test_a_terminal_that_closes_stops_the_server(monkeypatch) -> None:
    stopped = []

    def run(self: uvicorn.Server, sockets: list[socket.socket]) -> None:
        signal.raise_signal(signal.SIGHUP)
        stopped.append(self.should_exit)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    before = signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        server.serve(server.application(Models()), [])
    finally:
        signal.signal(signal.SIGHUP, before)
    assert stopped == [True]


def _address_of_this_machine() -> str:
    """An address that is not 127.0.0.1, on which a server for all would answer."""
    return "127.0.0.2"
