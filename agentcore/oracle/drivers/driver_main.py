"""The driver's side of the protocol (spec/driver-protocol.md): requests to answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeAlias

from agentcore.kit.program import BadProgram, parse_json
from agentcore.kit.schemas import Schema
from agentcore.oracle.drivers.protocol import Implementation

__all__ = ["answers"]

Json: TypeAlias = dict[str, Any]


def answers(
    lines: Iterable[bytes], implementation: Implementation, answer: Callable[[Any], Json]
) -> Iterator[Json]:
    """The answers to the lines, each as soon as the line is there, until one says to stop.

    `answer(program)` has the `trace` of a program, or says by `unsupported` or `error` why there is none. It
    does not raise.
    """
    for line in lines:
        if not line.strip():
            continue
        request = _request(line)
        if isinstance(request, str):
            yield {"seq": None, "error": {"name": "BadRequest", "message": request}}
        elif request["cmd"] == "start":
            yield implementation.to_answer()
        elif request["cmd"] == "run":
            yield {"seq": request["seq"], **answer(request["program"])}
        else:
            return


@cache
def _requests() -> Schema:
    return Schema("driver-request")


def _request(line: bytes) -> Json | str:
    try:
        value = parse_json(line)
    except BadProgram as error:
        return str(error)
    problem = _requests().problem(value)
    if problem is not None:
        path, reason = problem
        return f"${path} {reason}"
    return dict(value)
