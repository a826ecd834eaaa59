"""A server of the explorer's page for tests, in a thread of its own."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import uvicorn


@contextlib.contextmanager
def running(app: Any) -> Iterator[int]:
    """Its port, as long as the block lasts."""
    config = uvicorn.Config(app, log_level="critical", server_header=False)
    serving = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            serving.should_exit = True
            thread.join()
