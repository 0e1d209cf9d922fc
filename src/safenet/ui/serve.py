"""Serve the page on this machine alone."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Any

from ..errors import SafeNetError

ADDRESS = "127.0.0.1"  # not reachable from other machines: what is typed here is solved here


def serve(port: int = 5007, runs: Path = Path("runs"), show: bool = True, threaded: bool = False) -> Any:
    """Serve `safenet ui` until Ctrl-C; with `threaded`, in the background, as a server that tests can stop."""
    try:
        import panel as pn

        from .page import TICK, Page
    except ImportError:
        raise SafeNetError("the page needs Panel", "pip install 'safenet-pde[ui]'") from None
    _check_free(port)
    pn.extension("katex", notifications=False)

    def page() -> Any:
        tab = Page(runs)
        pn.state.add_periodic_callback(tab.tick, period=TICK)
        pn.state.on_session_destroyed(lambda _: tab.close())
        return tab.view()

    origins = [f"{host}:{port}" for host in ("localhost", ADDRESS)]
    return pn.serve(
        {"/": page},
        port=port,
        address=ADDRESS,
        websocket_origin=origins,
        title="SAFE-NET",
        show=show,
        threaded=threaded,
        verbose=not threaded,
    )


def _check_free(port: int) -> None:
    """Refuse a port at which another server listens; Panel would end in a traceback."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, os.name == "posix")
        try:
            trial.bind((ADDRESS, port))
        except OSError as obstacle:
            if obstacle.errno != errno.EADDRINUSE:
                raise
            raise SafeNetError(
                f"port {port} is in use, perhaps by another `safenet ui`", f"--port {port + 1}"
            ) from None
