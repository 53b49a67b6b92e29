"""Checks a process against the driver protocol, rule by rule: the fault, the line, the mend.

Each check is named after its rule (`agentcore.oracle.drivers.rules.DriverRule`). One that needs a new process
starts one; the others go on with the one that runs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.kit.families import DEFAULT_PROFILE, FAMILIES, Family, family_of
from agentcore.kit.program import BadProgram, Crashed, Malformed, Schema, excerpt, parse_json
from agentcore.messages.values import canonical_json
from agentcore.oracle.drivers.driver import Process
from agentcore.oracle.drivers.protocol import START, VERSION
from agentcore.oracle.drivers.rules import DriverRule

__all__ = ["CHECKS", "STOP", "Broken", "BrokenError", "Check", "Kept", "Session", "Verdict", "lint", "ran"]

Json: TypeAlias = dict[str, Any]

# ---------------------------------------------------------------- verdicts


@attrs.frozen
class Kept:
    """The rule is kept; `note` says so where little could be seen."""

    rule: DriverRule
    note: str = ""


@attrs.frozen(kw_only=True)
class Broken:
    """The rule is broken: `what` is wrong, `sent` and `heard` are the lines in question, `todo` mends it."""

    rule: DriverRule
    what: str
    sent: str
    heard: str
    todo: str


Verdict: TypeAlias = Kept | Broken


@attrs.frozen
class Check:
    """The check of a rule: `run` raises BrokenError or returns a note; `todo` is what mends most breaks."""

    run: Callable[[Session], str | None]
    todo: str


def lint(
    argv: Sequence[str], *, time_limit: float = 10.0, rules: Collection[DriverRule] = tuple(DriverRule)
) -> Iterator[Verdict]:
    """Checks the driver that `argv` starts, rule by rule, in the order of `CHECKS`; only these `rules`.

    What does not answer `start`, or does not answer at all within `time_limit` seconds, is not asked further.
    Raises OSError where the process cannot be started.
    """
    session = Session(argv, time_limit)
    try:
        for rule, check in ((rule, CHECKS[rule]) for rule in CHECKS if rule in rules):
            try:
                note = check.run(session)
            except BrokenError as error:
                yield _broken(rule, check, error, session)
                if error.gone or rule is DriverRule.START:
                    return
                # What it still has to say is no answer to the next check.
                session.close()
            else:
                yield Kept(rule, note or "")
    finally:
        session.close()


def _broken(rule: DriverRule, check: Check, error: BrokenError, session: Session) -> Broken:
    return Broken(
        rule=rule,
        what=error.what,
        sent=excerpt(session.sent.rstrip(b"\n")),
        heard=excerpt(session.heard),
        todo=error.todo or check.todo,
    )


# ---------------------------------------------------------------- programs


def _family(session: Session) -> Family | None:
    """The first of the driver's formats that is known here."""
    if not session.introduction:
        session.started()
    known = (name for name in session.introduction["formats"] if name in FAMILIES)
    return next((FAMILIES[name] for name in known), None)


def _saying(session: Session, text: str) -> Json:
    """A program in which a user says the text."""
    return (_family(session) or family_of(DEFAULT_PROFILE)).smallest(text)


_SEEDS: Final = range(12)


def _programs(session: Session) -> list[Json]:
    """Random programs of the driver's format, for a profile on each path."""
    family = _family(session)
    if family is None:
        return []
    profiles = {name.partition("/")[2]: name for name in family.profiles}
    paths = [name for path, name in profiles.items() if path] or [family.profiles[-1]]
    return [program for name in paths for program in family.programs(_SEEDS, name)]


# ---------------------------------------------------------------- asking


def _run(session: Session, seq: Any, program: Any) -> Json:
    """The answer to a program, which has the `seq` that was given."""
    session.say(ran(seq, program))
    return _due(session, seq)


def _due(session: Session, seq: Any) -> Json:
    answer = session.hear()
    if "seq" not in answer or canonical_json(answer["seq"]) != canonical_json(seq):
        raise BrokenError(f"the answer has seq {_short(answer.get('seq'))} where {_short(seq)} is due")
    return answer


def _short(value: Any) -> str:
    return excerpt(json.dumps(value).encode())


def _error(answer: Json, name: str) -> None:
    """Raises unless the answer is the error of that name."""
    error = answer.get("error")
    if not isinstance(error, dict) or error.get("name") != name:
        raise BrokenError(f"the driver should have answered this request with the error {name}")


def _still_reads(session: Session) -> None:
    """Raises unless an ordinary request is answered now."""
    answer = _run(session, "next", _saying(session, "hi"))
    if "error" in answer:
        raise BrokenError("the next request, which is right, is answered with an error")


# ---------------------------------------------------------------- checks


def _start(session: Session) -> str | None:
    """Rule driver.start."""
    session.fresh()
    session.say(START)
    answer = session.hear_object()
    if "implementation" not in answer and not isinstance(answer.get("version"), int):
        raise BrokenError(
            "`start` is answered as a line that is no program: this is a filter",
            "a filter can be checked as it is; to be linted it has to speak the protocol",
        )
    session.started()
    unknown = [name for name in session.introduction["formats"] if name not in FAMILIES]
    return f"no programs are known of the format {', '.join(unknown)}" if unknown else None


def _version(session: Session) -> None:
    """Rule driver.version."""
    session.fresh()
    asked = START.replace(b"%d" % VERSION, b"999")
    answer = session.ask(asked, "started")
    session.close()
    if answer["version"] != VERSION:
        raise BrokenError(f"it speaks version {answer['version']}, this is a check of version {VERSION}")


def _only_answers(session: Session) -> None:
    """Rule driver.only-answers."""
    session.started()
    _run(session, 0, _saying(session, "hi"))
    _, rest = session.end(by_stop=True)
    if rest:
        session.heard = rest
        raise BrokenError("more output than answers")


def _unknown_fields(session: Session) -> None:
    """Rule driver.unknown-fields."""
    session.fresh()
    session.introduction = session.ask(START.replace(b"}", b',"later":[1]}'), "started")
    session.say(ran(0, _saying(session, "hi")).replace(b'{"cmd"', b'{"later":{},"cmd"', 1))
    _due(session, 0)


_SEQS: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1.5, "", "a", [], [1, None, {"a": []}], {}, {"b": 1, "a": {"seq": 2}}),
)


def _seq(session: Session) -> None:
    """Rule driver.seq."""
    for seq in _SEQS:
        _run(session, seq, _saying(session, "hi"))


_AT_ONCE: Final = 30


def _in_order(session: Session) -> None:
    """Rule driver.in-order."""
    lines = b"".join(ran(number, _saying(session, f"#{number}")) for number in range(_AT_ONCE))
    session.say(lines)
    for number in range(_AT_ONCE):
        _due(session, number)


_NO_PROGRAMS: Final[tuple[Any, ...]] = (7, None, "text", [])


def _bad_program(session: Session) -> None:
    """Rule driver.bad-program."""
    for value in _NO_PROGRAMS:
        _error(_run(session, "bad", value), "BadProgram")
    _still_reads(session)


_NO_REQUESTS: Final = (
    *(b"no JSON", b'{"cmd":', b"7", b"[]", b"null", b'"start"', b"{}", b'{"cmd":"jump"}', b'{"cmd":"run"}'),
    b"\xff\xfe",
)


def _bad_request(session: Session) -> None:
    """Rule driver.bad-request."""
    for line in _NO_REQUESTS:
        session.say(line + b"\n")
        _error(_due(session, None), "BadRequest")
    _still_reads(session)


def _blank_lines(session: Session) -> None:
    """Rule driver.blank-lines."""
    session.say(b"\n  \n\t\r\n" + ran("after", _saying(session, "hi")) + b"\n")
    _due(session, "after")
    _still_reads(session)


_TEXTS: Final = (
    *("", 'quote " backslash \\ slash /', "\x00\x01\x1f\x7f", "\r\n\t"),
    *("\u2028 and \u2029 and \x85 and \x0c", "é ß 漢 \U0001f642", "\ud800", "\udc00 reversed \ud800"),
    *("__proto__", "constructor"),
)


def _any_text(session: Session) -> None:
    """Rule driver.any-text."""
    for text in _TEXTS:
        # Some implementations drop messages of nothing but blanks.
        said = f"<{text}>"
        _holds(_run(session, text, _saying(session, said)), said)
        if _encodable(text):
            request = {"cmd": "run", "seq": text, "program": _saying(session, said)}
            session.say(json.dumps(request, ensure_ascii=False).encode() + b"\n")
            _holds(_due(session, text), said)
    # White space to JSON.
    session.say(ran("return", _saying(session, "hi")).replace(b", ", b",\r"))
    _due(session, "return")


def _encodable(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _holds(answer: Json, text: str) -> None:
    """Raises where a trace does not have the text that a user said."""
    if "trace" in answer and text not in _strings(answer["trace"]):
        raise BrokenError(f"the text {json.dumps(text)[:60]} that the user says is not in the trace")


def _strings(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value}
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {found for each in inside for found in _strings(each)}


_NUMBERS: Final = (9007199254740991, -9007199254740991, 1.0, 0.1, 1e21, 1e300, 5e-324, 1.7976931348623157e308)


def _any_number(session: Session) -> None:
    """Rule driver.any-number."""
    for number in _NUMBERS:
        _run(session, [number], _saying(session, "hi"))


_LEVELS: Final = 100


def _deep(session: Session) -> None:
    """Rule driver.deep."""
    seq: Any = "innermost"
    for level in range(_LEVELS):
        seq = [seq] if level % 2 else {"in": seq}
    _run(session, seq, _saying(session, "hi"))


def _long_lines(session: Session) -> None:
    """Rule driver.long-lines."""
    text = "long " * 200_000
    _holds(_run(session, text[:1000], _saying(session, text)), text)
    _still_reads(session)


def _trace(session: Session) -> str | None:
    """Rule driver.trace."""
    programs = _programs(session)
    family = _family(session)
    if family is None:
        return "no format is known"
    traces = 0
    for number, program in enumerate(programs):
        answer = _run(session, number, program)
        if "error" in answer:
            raise BrokenError(f"a program is answered with the error {_short(answer['error'])}")
        if "trace" not in answer:
            continue
        traces += 1
        if problem := family.trace_problem(answer["trace"]):
            path, reason = problem
            raise BrokenError(f"the trace of {program['id']} is not what the schema allows: ${path} {reason}")
    return f"{traces} of {len(programs)} programs are supported"


def _deterministic(session: Session) -> str | None:
    """Rule driver.deterministic."""
    programs = [_saying(session, "hi"), *_programs(session)]
    session.started()
    first = [_text(session, program) for program in programs]
    again = [_text(session, program) for program in programs]
    session.started()
    anew = [_text(session, program) for program in reversed(programs)][::-1]
    for program, *texts in zip(programs, first, again, anew, strict=True):
        if len({*texts}) > 1:
            session.sent = ran("again", program)
            session.heard = next(text for text in texts if text != texts[0]).encode()
            when = (
                "when it is run again" if texts[0] != texts[1] else "in another process, after other programs"
            )
            raise BrokenError(f"the answer to the program {program['id']} differs {when}")
    return None if any('"trace"' in text for text in first) else "no program is supported"


def _text(session: Session, program: Json) -> str:
    return canonical_json(_run(session, "again", program))


def _stop(session: Session) -> None:
    """Rule driver.stop."""
    session.started()
    _end_session(session, by_stop=True)


def _end_of_input(session: Session) -> None:
    """Rule driver.end-of-input."""
    session.started()
    _end_session(session, by_stop=False)


def _end_session(session: Session, *, by_stop: bool) -> None:
    code, _ = session.end(by_stop=by_stop)
    if code is None:
        raise BrokenError("it, or what it started, still runs when the time is over")
    if code:
        raise BrokenError(
            f"it ended with exit code {code}" if code > 0 else f"it was ended by signal {-code}"
        )


CHECKS: Final[Mapping[DriverRule, Check]] = MappingProxyType(
    {
        DriverRule.START: Check(
            _start,
            'answer {"cmd":"start"} with {"version":1,"implementation":{"name","version"},"formats":[...]}',
        ),
        DriverRule.ONLY_ANSWERS: Check(
            _only_answers, "print nothing to standard output but answers; use standard error for the rest"
        ),
        DriverRule.VERSION: Check(
            _version, "answer `start` with the version that you speak, and do not look at the one asked for"
        ),
        DriverRule.UNKNOWN_FIELDS: Check(
            _unknown_fields, "read the fields that you know, and pass over others"
        ),
        DriverRule.SEQ: Check(_seq, "give `seq` back as it came, without looking into it"),
        DriverRule.IN_ORDER: Check(_in_order, "answer one request after the other, each with one line"),
        DriverRule.BAD_PROGRAM: Check(
            _bad_program,
            'answer {"seq":...,"error":{"name":"BadProgram","message":...}}, and go on with the next line',
        ),
        DriverRule.BAD_REQUEST: Check(
            _bad_request,
            'answer {"seq":null,"error":{"name":"BadRequest","message":...}}, and go on with the next line',
        ),
        DriverRule.BLANK_LINES: Check(_blank_lines, "skip lines that have nothing but blanks in them"),
        DriverRule.ANY_TEXT: Check(
            _any_text,
            "split the input at \\n alone, read it as UTF-8, and escape what is not ASCII in answers",
        ),
        DriverRule.ANY_NUMBER: Check(_any_number, "read and write numbers as 64-bit floats, in full"),
        DriverRule.DEEP: Check(_deep, "read and write JSON with a parser that goes at least 130 levels deep"),
        DriverRule.LONG_LINES: Check(_long_lines, "read a line to its end, however long it is"),
        DriverRule.TRACE: Check(
            _trace, "give the fields of the format; answer `unsupported` to what you cannot run"
        ),
        DriverRule.DETERMINISTIC: Check(
            _deterministic,
            "leave drawn ids and times out of traces, and begin each program with nothing of the one before",
        ),
        DriverRule.STOP: Check(_stop, "end the process, and what it started, when `stop` is read"),
        DriverRule.END_OF_INPUT: Check(
            _end_of_input, "end the process, and what it started, at the end of the input"
        ),
    }
)
"""How each rule is checked, in the order in which they are."""


# A driver as the module `lint` speaks to it: line by line, misbehaviour being a `BrokenError`.

STOP: Final = b'{"cmd":"stop"}\n'
_MAX_LINE: Final = 1 << 26
_STDERR: Final = 500
_FLUSH_SECONDS: Final = 0.5


class BrokenError(AgentCoreError):
    """The driver did what it is not to do: `what`; `todo`, if the rule's own advice is not the best here.

    `gone` says that it cannot be asked any more, for it does not answer at all.
    """

    def __init__(self, what: str, todo: str | None = None, *, gone: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo
        self.gone = gone


def ran(seq: Any, program: Any) -> bytes:
    """The request for the trace of a program."""
    return json.dumps({"cmd": "run", "seq": seq, "program": program}).encode() + b"\n"


@cache
def _answers() -> Schema:
    return Schema("driver-answer")


class Session:
    """A driver's processes, one at a time.

    `sent` and `heard` are the last line in each direction, `introduction` is what it answered to `start`.
    """

    def __init__(self, argv: Sequence[str], time_limit: float) -> None:
        self.sent = b""
        self.heard = b""
        self.introduction: Json = {}
        self._argv = argv
        self._time_limit = time_limit
        self._process: Process | None = None

    def close(self) -> None:
        """Kills the process with all that it started."""
        if self._process is not None:
            self._process.finish(0)
            self._process = None

    def fresh(self) -> None:
        """Starts a new process, which is not spoken to yet. Raises OSError where that cannot be."""
        self.close()
        self.sent = self.heard = b""
        self._process = Process(self._argv, None)

    def started(self) -> Json:
        """Starts a new process; what it answers to `start`."""
        self.fresh()
        self.introduction = self.ask(START, "started")
        return self.introduction

    def say(self, lines: bytes) -> None:
        """Sends lines. A process is started if none runs."""
        if self._process is None:
            self.started()
        assert self._process is not None  # noqa: S101 - `started` has made one
        self.sent, self.heard = lines, b""
        self._process.send(lines)

    def hear(self, kind: str | None = None) -> Json:
        """The next answer; `kind` is the definition of the schema that it has to fit. Raises BrokenError."""
        value = self.hear_object()
        problem = _answers().problem(value, kind)
        if problem is not None:
            path, reason = problem
            raise BrokenError(f"an answer that is not what the schema allows: ${path} {reason}")
        return value

    def hear_object(self) -> Json:
        """The JSON object of the next line, whatever it holds. Raises BrokenError."""
        assert self._process is not None  # noqa: S101 - something was said
        line = self._process.line(time.monotonic() + self._time_limit, _MAX_LINE)
        if line is None:
            raise self._silence(self._process)
        if isinstance(line, Crashed | Malformed):
            raise self._failed(line)
        self.heard = line
        return _object(line)

    def ask(self, line: bytes, kind: str | None = None) -> Json:
        """The answer to a line."""
        self.say(line)
        return self.hear(kind)

    def end(self, *, by_stop: bool) -> tuple[int | None, bytes]:
        """Sends it `stop`, or ends its input: its exit code, None if it does not end, and what it wrote."""
        assert self._process is not None  # noqa: S101 - something was said
        deadline = time.monotonic() + self._time_limit
        if by_stop:
            self.say(STOP)
        else:
            self._process.close_input(deadline)
        ended = self._process.wait_for_end(deadline)
        self.close()
        return ended

    def _silence(self, process: Process) -> BrokenError:
        process.close_input(time.monotonic() + _FLUSH_SECONDS)
        late = process.line(time.monotonic() + _FLUSH_SECONDS, _MAX_LINE)
        said = _stderr_note(process.stderr_text())
        self.close()
        if isinstance(late, bytes):
            what = "the answer came only when the input ended"
            return BrokenError(what, "flush standard output after each answer", gone=True)
        return BrokenError(
            f"no answer within {self._time_limit:g} s{said}",
            "answer each line before you read the next; see where it waits",
            gone=True,
        )

    def _failed(self, failure: Crashed | Malformed) -> BrokenError:
        self.close()
        todo = "write one JSON value a line" if isinstance(failure, Malformed) else None
        return BrokenError(f"{failure.reason}{_stderr_note(failure.stderr)}", todo)


def _stderr_note(stderr: str) -> str:
    return f"; the end of its standard error: {stderr[-_STDERR:].strip()}" if stderr.strip() else ""


def _object(line: bytes) -> Json:
    try:
        value = parse_json(line)
    except BadProgram:
        value = None
    if not isinstance(value, dict):
        todo = (
            "print nothing to standard output but answers, each on one line; use standard error for the rest"
        )
        raise BrokenError("a line that is not a JSON object", todo)
    return value
