"""Errors of the package: their texts, what of them reaches the caller, and how a call ended."""

from __future__ import annotations

from typing import Any, Self

import attrs

from agentcore.heap.heap import (
    DEEPEST,
    UNDEFINED,
    DateCell,
    DepthError,
    Function,
    HeapTypeError,
    Ref,
    Store,
    Value,
)
from agentcore.heap.js import PackageError, fields, in_object_order, quoted, stringified, text
from agentcore.messages.brief import brief


class MastraError(PackageError):
    """An error that the package has a name for, such as PROCESSOR_RETURNED_UNSUPPORTED_MODEL."""

    def __init__(
        self,
        id: str,  # noqa: A002 - its name in the package
        message: str,
        *,
        domain: str = "AGENT",
        category: str = "USER",
        cause: CallerError | None = None,
    ) -> None:
        super().__init__("Error", message)
        self.id = id
        self.domain = domain
        self.category = category
        self.cause = cause


class TripWire(Exception):  # noqa: N818 - the package's own name
    """A processor aborted the run."""

    name = "Error"

    def __init__(self, reason: str, options: Any, processor_id: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.options = options
        self.processor_id = processor_id


@attrs.frozen(kw_only=True)
class CallerError:
    """An error as the caller of an agent gets it.

    `id` is a name that the error itself has, `code` the one it had before it went through JSON, as what fails
    inside a run does.
    """

    name: str
    message: str
    class_name: str = "Error"
    id: str | None = None
    code: str | None = None
    domain: str | None = None
    category: str | None = None
    cause: CallerError | None = None

    @classmethod
    def through_json(cls, error: BaseException) -> Self:
        """Returns an error as JSON leaves it: without its class and its cause."""
        if isinstance(error, MastraError):
            return cls(
                name="Error",
                message=str(error),
                code=error.id,
                domain=error.domain,
                category=error.category,
                cause=error.cause,
            )
        return cls(name=getattr(error, "name", type(error).__name__), message=str(error))

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """An error as it is."""
        name = getattr(error, "name", type(error).__name__)
        if isinstance(error, MastraError):
            return cls(
                name=name,
                message=str(error),
                class_name="MastraError",
                id=error.id,
                domain=error.domain,
                category=error.category,
                cause=error.cause,
            )
        return cls(name=name, message=str(error), class_name=name)


# How a call of an agent ended.


@attrs.frozen(kw_only=True)
class Tripwire:
    """The caller's result of an aborted run."""

    __repr__ = brief

    reason: str
    retry: Any
    metadata: Any
    processor_id: str


@attrs.define(kw_only=True)
class Outcome:
    """The outcome for the caller of an agent: `error`, or the other fields.

    `response_messages` is undefined for an aborted run. `last_text` is what a stream's `text` gives. `chunks`
    are the kinds of the stream's chunks, repeats joined.
    """

    __repr__ = brief

    error: CallerError | None = None
    step_texts: list[Value] = attrs.Factory(list)
    last_text: str = ""
    finish_reason: str | None = None
    tripwire: Tripwire | None = None
    response_messages: Value = UNDEFINED
    chunks: list[str] = attrs.Factory(list)

    @property
    def text(self) -> str:
        """The text of all steps."""
        return "".join(told for told in self.step_texts if isinstance(told, str))


# Values inside the texts of errors: `JSON.stringify(value, null, 2)`.

_INDENT = "  "


def printed(store: Store, value: Value) -> str:
    """Returns `${JSON.stringify(value, null, 2)}`.

    Raises:
        HeapTypeError: if an object is inside itself.
        DepthError: if the value is too deep.
    """
    return text(store, stringified(store, value)) if not isinstance(value, Ref) else _lines(store, value, ())


def _lines(store: Store, value: Value, above: tuple[int, ...]) -> str:
    if not isinstance(value, Ref) or isinstance(store.cells[value.address], DateCell):
        shown = stringified(store, value)
        return "null" if shown is UNDEFINED else str(shown)
    if value.address in above:
        raise HeapTypeError("Converting circular structure to JSON")
    if len(above) > DEEPEST:
        raise DepthError
    inside = (*above, value.address)
    cell = store.cells[value.address]
    if isinstance(cell, tuple):
        return _within("[]", [_lines(store, item, inside) for item in cell], len(above))
    own = fields(store, value)
    kept = [name for name in in_object_order(own) if not isinstance(own[name], Function)]
    return _within("{}", [f"{quoted(name)}: {_lines(store, own[name], inside)}" for name in kept], len(above))


def _within(brackets: str, lines: list[str], level: int) -> str:
    if not lines:
        return brackets
    outer = "\n" + _INDENT * level
    inner = outer + _INDENT
    return f"{brackets[0]}{inner}{f',{inner}'.join(lines)}{outer}{brackets[1]}"
