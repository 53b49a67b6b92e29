"""Drivers that lie: `liar.py KIND` misbehaves in the one way that the kind names, and is else truthful.

`liar.py KIND --protocol` is the same in the driver protocol; without, it is a filter.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from liars import toy

Json = dict[str, Any]
READING_FOREVER = 600.0
PROTOCOL = "--protocol" in sys.argv
STARTED = {"version": 1, "implementation": {"name": "liar", "version": "1"}, "formats": ["ai-sdk"]}


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _requests() -> Iterator[Json]:
    """What programs are asked with; whatever else there is, is answered on the way."""
    for line in sys.stdin.buffer:
        request = _parsed(line)
        match request.get("cmd"):
            case "start" if PROTOCOL:
                _say(json.dumps(STARTED) + "\n")
            case "stop" if PROTOCOL:
                return
            case "run" if (
                PROTOCOL and isinstance(request.get("program"), dict) and "script" in request["program"]
            ):
                yield request
            case None if "script" in request and not PROTOCOL:
                yield {"seq": request["id"], "program": request}
            case _ if line.strip():
                _say(json.dumps(_refusal(request.get("seq"))) + "\n")


def _parsed(line: bytes) -> Json:
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


def _refusal(seq: Any) -> Json:
    return {("seq" if PROTOCOL else "id"): seq, "error": {"name": "BadProgram", "message": "it is none"}}


def _told(request: Json, trace: Json) -> Json:
    return {"seq": request["seq"], "trace": trace} if PROTOCOL else trace


def _answer(request: Json) -> Json:
    return _told(request, toy.trace(request["program"]))


def _line(request: Json) -> str:
    return json.dumps(_answer(request)) + "\n"


def _first() -> Json:
    return next(_requests())


# ---------------------------------------------------------------- those that stay away


def hangs() -> None:
    time.sleep(READING_FOREVER)


def hangs_at_the_second() -> None:
    _say(_line(_first()))
    time.sleep(READING_FOREVER)


def hangs_with_a_child() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(sys.argv[2]).write_text(str(child.pid))
    time.sleep(READING_FOREVER)


def ends_but_leaves_a_child() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(sys.argv[2]).write_text(str(child.pid))
    truthful()


def _forked(*, session: bool, keeps: Callable[[], None] = lambda: time.sleep(READING_FOREVER)) -> None:
    """A child that holds this process's pipes, in a session of its own or not; its number is noted."""
    if os.fork():
        return
    if session:
        os.setsid()
        # What is orphaned twice knows nothing of who began it.
        if os.fork():
            os._exit(0)
    with Path(sys.argv[2]).open("a") as notes:
        notes.write(f"{os.getpid()}\n")
    keeps()


def hangs_with_a_session() -> None:
    _forked(session=True)
    time.sleep(READING_FOREVER)


def _noted() -> bool:
    return Path(sys.argv[2]).exists() and Path(sys.argv[2]).read_text().endswith("\n")


def _exits_once_noted() -> None:
    while not _noted():
        time.sleep(0.01)
    os._exit(7)


def exits_while_a_child_holds_its_output() -> None:
    _first()
    _forked(session=False)
    _exits_once_noted()


def exits_while_a_session_holds_its_output() -> None:
    _first()
    _forked(session=True)
    _exits_once_noted()


def exits_while_a_child_floods_its_output() -> None:
    def flood() -> None:
        while True:
            os.write(1, b"x" * 1_000)

    _first()  # else the answer to it would be in the flood
    _forked(session=False, keeps=flood)
    _exits_once_noted()


def truthful_with_a_session() -> None:
    _forked(session=True)
    while not _noted():
        time.sleep(0.01)
    truthful()


def closes_its_output() -> None:
    _first()
    os.close(1)
    time.sleep(READING_FOREVER)


def never_reads() -> None:
    sys.stdin.close()
    time.sleep(READING_FOREVER)


def never_stops() -> None:
    truthful()
    time.sleep(READING_FOREVER)


def crashes_at_start() -> None:
    sys.exit("cannot find the package")


def crashes_at_the_third() -> None:
    for number, request in enumerate(_requests()):
        if number == 2:
            sys.stderr.write("out of memory\n")
            sys.stderr.flush()
            os.kill(os.getpid(), 9)
        _say(_line(request))


def exits_early() -> None:
    _say(_line(_first()))


def exits_in_a_line() -> None:
    _say(_line(_first())[:30])


# ---------------------------------------------------------------- those that say something else


def truthful() -> None:
    for request in _requests():
        _say(_line(request))


def prints_junk() -> None:
    for _ in _requests():
        _say("debug: got a program\n")


def prints_a_list() -> None:
    for _ in _requests():
        _say("[]\n")


def prints_no_trace() -> None:
    for request in _requests():
        _say(json.dumps(_told(request, {"id": request["program"]["id"]})) + "\n")


def splits_lines() -> None:
    for request in _requests():
        _say(json.dumps(_answer(request), indent=1) + "\n")


def writes_in_pieces() -> None:
    for request in _requests():
        answer = _line(request)
        for start in range(0, len(answer), 40):
            _say(answer[start : start + 40])
            time.sleep(0.001)


def prints_two_lines() -> None:
    for request in _requests():
        _say(_line(request) * 2)


def answers_the_wrong_id() -> None:
    for request in _requests():
        wrong = {**request, "program": {**request["program"], "id": "other"}}
        _say(_line(wrong))


def answers_the_wrong_seq() -> None:
    for request in _requests():
        _say(_line({**request, "seq": "other"}))


def prints_megabytes() -> None:
    while True:
        _say("x" * 100_000)


def complains_by_the_megabyte() -> None:
    for request in _requests():
        sys.stderr.write("warning " * 500_000)
        sys.stderr.flush()
        _say(_line(request))


def supports_nothing() -> None:
    for request in _requests():
        told = {"seq" if PROTOCOL else "id": request["seq"], "unsupported": "no hooks here"}
        _say(json.dumps(told) + "\n")


if __name__ == "__main__":
    kinds: dict[str, Callable[[], None]] = {
        name: value for name, value in globals().items() if callable(value) and not name.startswith("_")
    }
    kinds[sys.argv[1]]()
