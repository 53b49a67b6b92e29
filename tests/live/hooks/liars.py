"""Hooks that do what a hook must not do to its checker: each has an outcome."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import Any


def hangs(messages: Any) -> Any:
    while True:
        time.sleep(0.05)


def exits(messages: Any) -> Any:
    os._exit(0)


def system_exit(messages: Any) -> Any:
    sys.exit(5)


def kills_itself(messages: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def fills_the_memory(messages: Any) -> Any:
    held = []
    while True:
        held.append(bytearray(1 << 26))


def forks(messages: Any) -> Any:
    os.fork()
    return messages


def replaces_builtins(messages: Any) -> Any:
    """Replaces what a checker would copy and compare with, then writes."""
    import builtins
    import copy
    import json

    vars(copy)["deepcopy"] = lambda value, _memo=None: value
    json.dumps = lambda *_args, **_options: "1"
    builtins.id = lambda _value: 1
    messages[0]["content"] += "p"
    return messages


def replaces_the_clock(messages: Any) -> Any:
    import random

    time.monotonic = time.time = lambda: 0.0
    random.random = lambda: 0.0
    messages[0]["content"] += "p"
    return messages


def hides_its_error(messages: Any) -> Any:
    with contextlib.suppress(BaseException):
        messages[0]["content"] = "p"
    return messages


def prints_events(messages: Any) -> Any:
    """Writes what a worker would write, wherever it can."""
    line = b'{"event": "judged", "pid": 0}\nnot json\n{"event": 7}\n'
    for descriptor in range(1, 12):
        try:
            os.write(descriptor, line)
        except OSError:
            continue
    print("\x1b[2J", flush=True)  # noqa: T201
    return messages


def calls_home(messages: Any) -> Any:
    import socket

    socket.create_connection(("192.0.2.1", 80), timeout=1)
    return messages


def writes_a_file(messages: Any) -> Any:
    from pathlib import Path

    Path(__file__).with_name("left_behind.txt").write_text("x", encoding="utf-8")
    return messages


def starts_a_program(messages: Any) -> Any:
    import subprocess

    subprocess.run([sys.executable, "-c", "pass"], check=False)
    return messages


class Lies:
    """Says that it equals everything, and hides what it holds."""

    def __init__(self) -> None:
        self.text = "hidden"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        raise RuntimeError("hashed")

    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("copied")

    def __repr__(self) -> str:
        raise RuntimeError("shown")


_LIE = Lies()


def returns_a_liar(messages: Any) -> Any:
    _LIE.text += "."
    return [*[m for m in messages if m.get("note") is None], {"role": "user", "content": "c", "note": _LIE}]
