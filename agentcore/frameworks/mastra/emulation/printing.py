"""Values inside the texts of errors: `JSON.stringify(value, null, 2)`."""

from __future__ import annotations

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
from agentcore.heap.js import fields, in_object_order, quoted, stringified, text

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
