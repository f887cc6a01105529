"""The page of a run on this computer, while the run goes on: `noisewise watch`.

Read only: the server answers GET on the loopback address and changes nothing. A page asks every
two seconds whether the run has changed and loads itself again then.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from noisewise.command.runs import Kept
from noisewise.errors import CheckpointError
from noisewise.report import facts
from noisewise.report.page import page

#: A page that took t seconds to make is made again after this many times t at the earliest.
_PATIENCE = 4.0
#: Seconds in which a browser that looks at the page has asked for news, and how long the end of
#: a run waits for it to fetch the last page.
_ATTENTION, _FAREWELL = 8.0, 6.0
#: Seconds for which a connection may be silent, and connections at the same time. Beyond that the
#: oldest ends: those that only wait must neither use up what the run needs nor keep others out.
_SILENCE, _CONNECTIONS = 10.0, 32
_WAITING = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{0}</title>'
    '<meta http-equiv="refresh" content="2"><meta name="color-scheme" content="light dark">'
    '<body style="font-family:system-ui;margin:3rem"><h1>{0}</h1><p>{1}</p>'
)


class Watch:
    """A server of the page of a run; ``port`` 0 takes any free one."""

    def __init__(self, run: Kept, port: int = 0, version: str = "") -> None:
        self.run, self._version = run, version
        self._page, self._stamp, self._made, self._took = "", "", 0.0, 0.0
        #: When a browser last asked for news, and the stamp of the page it has.
        self._asked, self._fetched = -_ATTENTION, ""
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _handler(self))
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def serve(self) -> None:
        """Answer until the process ends."""
        self._server.serve_forever()

    def start(self) -> None:
        """Answer in a thread of its own."""
        self._thread = threading.Thread(target=self.serve, daemon=True, name="noisewise watch")
        self._thread.start()

    def stop(self) -> None:
        """End the thread; first let a browser that is looking fetch the last page."""
        end = time.monotonic() + _FAREWELL
        looking = time.monotonic() - self._asked < _ATTENTION
        while looking and self._fetched != self.stamp() and time.monotonic() < end:
            time.sleep(0.05)
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def stamp(self) -> str:
        """Changes whenever the run does; empty while there is none."""
        return self.run.stamp()

    def news(self) -> str:
        """The stamp of the newest page there is to fetch."""
        self._asked = time.monotonic()
        if time.monotonic() - self._made < _PATIENCE * self._took:
            return self._stamp
        return self.stamp()

    def page(self) -> str:
        """The page as it is now, or the last one if the file cannot be read at the moment."""
        with self._lock:
            stamp = self.stamp()
            if stamp != self._stamp or not self._page:
                start = time.monotonic()
                try:
                    found = facts.of(self.run.load(), self.run.name)
                    self._page = page(found, self._version, stamp)
                    self._stamp = stamp
                except CheckpointError as error:
                    if not self._page:
                        said = str(error) if stamp else f"Waiting for {self.run} to appear."
                        return _WAITING.format(escape(self.run.name), escape(said))
                self._made, self._took = time.monotonic(), time.monotonic() - start
            self._fetched = self._stamp
            return self._page


class _Server(ThreadingHTTPServer):
    """A thread per connection, and a limited number of connections."""

    daemon_threads = True
    request_queue_size = _CONNECTIONS

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.append(request)
            if len(self._open) > _CONNECTIONS:
                with contextlib.suppress(OSError):  # its thread sees the end and closes it
                    self._open.pop(0).shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._open.remove(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a browser that went away is no news, and the terminal belongs to the run."""


def _handler(watch: Watch) -> type[BaseHTTPRequestHandler]:
    answers: dict[str, tuple[str, Callable[[], str]]] = {
        "/": ("text/html", watch.page),
        "/stamp": ("text/plain", watch.news),
    }

    class Handler(BaseHTTPRequestHandler):
        timeout = _SILENCE

        def do_GET(self) -> None:
            # Another name for this computer may be a page elsewhere that wants to read ours.
            host = (self.headers.get("Host") or "").partition(":")[0]
            known = answers.get(self.path) if host in ("127.0.0.1", "localhost") else None
            if known is None:
                self.send_error(404)
                return
            body = known[1]().encode("utf-8", "backslashreplace")
            self.send_response(200)
            self.send_header("Content-Type", f"{known[0]}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the terminal belongs to the run."""

    return Handler
