"""What an emulation is given, checked where Python hands it in: settings and answers of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from agentcore.errors import InvalidJsonError
from agentcore.heap.loading import HostValueError
from agentcore.heap.views import Desk
from agentcore.messages.values import freeze

__all__ = ["answer_parts", "is_list", "is_mapping_of", "is_one", "require_json", "unfit"]

_Attribute: TypeAlias = "attrs.Attribute[Any]"


def _refused(attribute: _Attribute, value: object, wanted: str, path: str = "") -> HostValueError:
    return HostValueError("settings", f"$.{attribute.name}{path}", f"{_shown(value)}; give {wanted}")


def is_list(wanted: str) -> Any:
    """A validator of settings: a list, as `wanted` says."""

    def validate(_: object, attribute: _Attribute, value: object) -> None:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray):
            raise _refused(attribute, value, wanted)

    return validate


def is_one(kind: type, wanted: str, *, optional: bool = False) -> Any:
    """A validator of settings: an object of a class."""

    def validate(_: object, attribute: _Attribute, value: object) -> None:
        if not (isinstance(value, kind) or (optional and value is None)):
            raise _refused(attribute, value, wanted)

    return validate


def is_mapping_of(kind: type, wanted: str, *, optional: bool = False) -> Any:
    """A validator of settings: a mapping from names to objects of a class."""

    def validate(_: object, attribute: _Attribute, value: Any) -> None:
        if optional and value is None:
            return
        if not isinstance(value, Mapping):
            raise _refused(attribute, value, f"a mapping from names to {wanted}")
        for name, each in value.items():
            if not isinstance(each, kind):
                raise _refused(attribute, each, wanted, f".{name}")

    return validate


def answer_parts(desk: Desk, answer: Any) -> Sequence[Mapping[str, Any]]:
    """Returns the parts that a model answered.

    Raises:
        HostValueError: if they are not a list of objects, each with a type.
    """
    desk.settled(answer)
    if not isinstance(answer, Sequence) or isinstance(answer, str | bytes):
        raise desk.refuse(unfit("$", answer, "a list of parts"))
    for index, part in enumerate(answer):
        if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
            raise desk.refuse(unfit(f"$[{index}]", part, "an object with a type"))
    require_json(desk, answer)
    return answer


def require_json(desk: Desk, value: Any) -> None:
    """Raises HostValueError if a value is not JSON, as what comes over a wire always is."""
    try:
        freeze(value)
    except InvalidJsonError as error:
        raise desk.refuse(HostValueError("", error.path, error.reason)) from None


def unfit(path: str, value: object, wanted: str) -> HostValueError:
    """The error of a value in a model's answer that is not what is wanted there."""
    return HostValueError("model", path, f"{_shown(value)}; give {wanted}")


def _shown(value: object) -> str:
    return repr(value) if value is None or isinstance(value, str) else f"a {type(value).__name__}"
