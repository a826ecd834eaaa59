"""`permnet explore`: a page that shows how references are resolved."""

import ipaddress
import socket
import sys
import threading
import webbrowser
from importlib.util import find_spec
from pathlib import Path

from permnet.commands.files import replacing
from permnet.errors import PermnetError


def explore(
    model: tuple[str, ...] = (),
    port: int = 8710,
    host: str = "127.0.0.1",
    no_browser: bool = False,
    export: Path | None = None,
    example: str | None = None,
    force: bool = False,
) -> int:
    """Open a page that shows which query leads to which key and datum, step by step.

    The page is served to this machine alone, and needs nothing from any other. With --export it is
    written to one file instead, with the answer to --example in it.

    For example:

        permnet explore
        permnet explore --model runs/mine/best runs/ablated/best --port 9000
        permnet explore --export page.html --model PI1-4 --example "a 2 b 1 c 3 <sep> 1 3 2"
        permnet explore --export page.html --model runs/decompiler/best --example function.s

    Args:
        model: Checkpoints' folders to offer beside the shipped models; those to ask for --export.
        port: Where to listen; 0 for any that is free.
        host: The address to listen on. Any but a loopback address lets others use the page.
        no_browser: Do not open a browser.
        export: Write the page to this file instead of serving it.
        example: What to answer in the exported page: a question, or a file of assembly, NAME.s.
        force: Overwrite the file if it exists.
    """
    if export is not None:
        return _export(export, model, example, force)
    if example is not None:
        raise PermnetError("--example is for --export FILE; on the page a question is typed")
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise PermnetError("explore needs FastAPI and uvicorn: pip install 'permnet[explore]'")
    from permnet.explore.models import Models
    from permnet.explore.server import LOOPBACK, application, serve

    with _listen(host, port) as listening:
        models = Models(model)
        models.warm()
        private = is_loopback(host)
        app = application(models, (*LOOPBACK, host) if private else None)
        name = f"[{host}]" if ":" in host else host
        address = f"http://{name}:{listening.getsockname()[1]}/"
        print(f"{address} (stop with Ctrl-C)", flush=True)
        if not private:
            print(f"others who reach {host} can use it too", file=sys.stderr)
        if not no_browser:
            # It waits in the socket's queue until the server answers.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        serve(app, [listening])
    return 0


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, which may mean any address
        return False


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise PermnetError(f"port is 0 to {2**16 - 1}, not {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise PermnetError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; "
            "choose another with --port, or 0 for any"
        ) from error


def _export(path: Path, names: tuple[str, ...], example: str | None, force: bool) -> int:
    if example is None:
        raise PermnetError('--export needs an example: --example "a 2 b 1 c 3 <sep> 1 3 2"')
    from permnet.answers import Shipped
    from permnet.decompiling.pipeline import Pipeline
    from permnet.decompiling.source import decoded, load
    from permnet.explore.export import export_program, export_question
    from permnet.explore.models import N_BEST, Models, offered

    with replacing(path, force) as file:
        if example.endswith(".s") and "<sep>" not in example:
            if len(names) > 1:
                raise PermnetError(
                    f"assembly is asked of one decompiler, not of {' and '.join(names)}: name one"
                )
            pipeline = Pipeline.load(names[0] if names else None, N_BEST)
            page = export_program(pipeline, decoded(load(example), example))
        else:
            chosen = [*map(offered, names)] or [Shipped().choose(example)]
            page = export_question(Models(chosen), chosen, example)
        file.write(page.encode())
    print(path)
    return 0
