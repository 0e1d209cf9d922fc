"""The solving process as its page sees it: give it a job, receive its events, stop it."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PATIENCE = 10.0  # seconds from «Stop» until a solve that has not ended is killed
DIED = "The solving process ended unexpectedly; too little memory?"


class Process:
    """A worker, started early so that it is ready when the first problem is stated."""

    def __init__(self) -> None:
        self.events: queue.Queue[dict[str, Any]] = queue.Queue()
        self.busy = False
        self.jobs = 0
        self.child: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Start a new worker, the first one or in place of one that has ended."""
        package = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
        self.child = subprocess.Popen(
            [sys.executable, "-m", "safenet.ui.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C on the terminal is for the page, which then stops the worker
        )
        threading.Thread(target=self._listen, args=(self.child,), daemon=True).start()

    def _listen(self, child: subprocess.Popen[str]) -> None:
        assert child.stdout is not None
        with child.stdout as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except json.JSONDecodeError:
                    continue  # printed by a library
                if event.keys() & {"done", "failed"}:
                    self.busy = False
                self.events.put(event)
        if self.busy and child is self.child:
            self.busy = False
            self.events.put({"failed": DIED})

    def solve(self, problem: str, source: str, folder: Path, solver: str, budget: str | None) -> None:
        """Start a job; its events arrive in the queue."""
        if self.child is None or self.child.poll() is not None:
            self.start()
        assert self.child is not None
        assert self.child.stdin is not None
        self.busy = True
        self.jobs += 1
        job = {
            "problem": problem,
            "source": source,
            "folder": str(folder),
            "solver": solver,
            "budget": budget,
        }
        try:
            self.child.stdin.write(json.dumps(job) + "\n")
            self.child.stdin.flush()
        except OSError:  # it has just ended
            self.busy = False
            self.start()
            self.events.put({"failed": DIED})

    def stop(self) -> None:
        """End the job as Ctrl-C does, which keeps the best so far; if it does not end, kill its worker."""
        child = self.child
        if not self.busy or child is None:
            return
        child.send_signal(signal.SIGINT)
        timer = threading.Timer(PATIENCE, self._kill, (child, self.jobs))
        timer.daemon = True
        timer.start()

    def _kill(self, child: subprocess.Popen[str], job: int) -> None:
        if self.busy and job == self.jobs and child is self.child and child.poll() is None:
            self.busy = False
            child.kill()
            self.events.put({"failed": "Stopped."})
            self.start()

    def close(self) -> None:
        """Kill the worker: the page was closed."""
        child, self.child, self.busy = self.child, None, False
        if child is not None:
            child.kill()
            child.wait()
            if child.stdin is not None:
                child.stdin.close()
