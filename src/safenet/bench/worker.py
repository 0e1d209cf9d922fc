"""The process behind `local.py`: a line of JSON in, a line of JSON out, until the input ends."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any


def main() -> None:
    # Whatever a library prints goes to standard error, and not between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    tasks: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            tasks.put(json.loads(line))
        os._exit(0)  # the main process is gone

    threading.Thread(target=listen, daemon=True).start()

    def say(answer: Any) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    import jax

    from ..backend import cache_compilations
    from .store import FullDiskError
    from .work import work

    cache_compilations()
    devices = jax.devices()
    say({"platform": devices[0].platform, "devices": len(devices)})
    forget: Callable[[], None] = jax.clear_caches
    former = None
    while True:
        task = tasks.get()
        # The programs of one configuration are of no use to the next, and there may be hundreds of them.
        if (kind := _kind(task)) != former:
            forget()
        former = kind
        try:
            say(work(task))
        except FullDiskError as full:
            say({"message": full.message, "remedy": full.remedy})


def _kind(task: dict[str, Any]) -> tuple[Any, ...]:
    """What all seeds of a configuration have in common."""
    configuration = task["cases"][0]["configuration"]
    return configuration["problem"], configuration["plan"] | {"seed": None}


if __name__ == "__main__":
    main()
