"""Drivers that lie: `liar.py KIND` misbehaves in the one way that the kind names, and is else truthful."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from liars import toy

READING_FOREVER = 600.0


def _answer(line: str) -> str:
    return json.dumps(toy.trace(json.loads(line)))


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def hangs() -> None:
    time.sleep(READING_FOREVER)


def hangs_with_a_child() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(sys.argv[2]).write_text(str(child.pid))
    time.sleep(READING_FOREVER)


def ends_but_leaves_a_child() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(sys.argv[2]).write_text(str(child.pid))
    toy.serve()


def crashes_at_start() -> None:
    sys.exit("cannot find the package")


def crashes_at_the_third() -> None:
    for number, line in enumerate(sys.stdin):
        if number == 2:
            sys.stderr.write("out of memory\n")
            sys.stderr.flush()
            os.kill(os.getpid(), 9)
        _say(_answer(line) + "\n")


def prints_junk() -> None:
    for _ in sys.stdin:
        _say("debug: got a program\n")


def prints_a_list() -> None:
    for _ in sys.stdin:
        _say("[]\n")


def prints_no_trace() -> None:
    for line in sys.stdin:
        _say(json.dumps({"id": json.loads(line)["id"]}) + "\n")


def splits_lines() -> None:
    for line in sys.stdin:
        _say(json.dumps(json.loads(_answer(line)), indent=1) + "\n")


def writes_in_pieces() -> None:
    for line in sys.stdin:
        answer = _answer(line) + "\n"
        for start in range(0, len(answer), 40):
            _say(answer[start : start + 40])
            time.sleep(0.001)


def prints_two_lines() -> None:
    for line in sys.stdin:
        _say((_answer(line) + "\n") * 2)


def answers_the_wrong_id() -> None:
    for line in sys.stdin:
        _say(_answer(json.dumps({**json.loads(line), "id": "other"})) + "\n")


def prints_megabytes() -> None:
    while True:
        _say("x" * 100_000)


def complains_by_the_megabyte() -> None:
    for line in sys.stdin:
        sys.stderr.write("warning " * 500_000)
        sys.stderr.flush()
        _say(_answer(line) + "\n")


def exits_early() -> None:
    _say(_answer(sys.stdin.readline()) + "\n")


def exits_in_a_line() -> None:
    _say(_answer(sys.stdin.readline())[:30])


def never_reads() -> None:
    sys.stdin.close()
    time.sleep(READING_FOREVER)


def supports_nothing() -> None:
    for line in sys.stdin:
        _say(json.dumps({"id": json.loads(line)["id"], "unsupported": "no hooks here"}) + "\n")


if __name__ == "__main__":
    kinds: dict[str, Callable[[], None]] = {
        name: value for name, value in globals().items() if callable(value) and not name.startswith("_")
    }
    kinds[sys.argv[1]]()
