"""The settings of a call that its model is given, and what is checked of them and of others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile
from agentcore.heap.heap import UNDEFINED, NotEmulatedError, Ref, Store, Value
from agentcore.heap.js import PackageError, fields, is_array, is_nullish, is_object, or_else, text

__all__ = ["check_counts", "check_settings", "named_headers", "read_settings", "require_emulated"]

_WHOLE: Final = {"maxOutputTokens": 1, "seed": None}
# Of the settings that count something else than a model's parameters.
_COUNTS: Final = {"maxRetries": 0, "streamRetries": 0, "toolCallConcurrency": 1}
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def require_emulated(profile: AiSdkProfile, names: Iterable[str]) -> None:
    """Raises NotEmulatedError for a setting that is neither read nor known to be passed over."""
    for name in names:
        if name not in profile.settings and name not in profile.settings_ignored:
            raise NotEmulatedError("settings", f"the setting {name}", "leave it out")


def read_settings(profile: AiSdkProfile, option: Callable[[str], Value]) -> dict[str, Value]:
    """What the model is given of a call's settings (rule ai-sdk.settings-shared).

    Raises:
        PackageError: AI_InvalidArgumentError for a value that is refused.
    """
    return check_settings(profile, {name: option(name) for name in profile.call_settings})


def check_settings(profile: AiSdkProfile, values: dict[str, Value]) -> dict[str, Value]:
    """The same settings, if none of them is refused (rule ai-sdk.settings-checked).

    Raises:
        PackageError: AI_InvalidArgumentError.
    """
    for name, value in values.items():
        if name in _WHOLE:
            require_whole(name, value, _WHOLE[name])
        elif name in profile.numbers_checked and not is_nullish(value) and not _is_number(value):
            raise _refused(name, "a number")
    return values


def check_counts(profile: AiSdkProfile, option: Callable[[str], Value]) -> None:
    """Raises PackageError for a number of retries or of calls at once that is none."""
    for name, least in _COUNTS.items():
        if name in profile.settings:
            require_whole(name, option(name), least)


def require_whole(name: str, value: Value, least: int | None) -> None:
    """Raises PackageError unless the value is absent, or a whole number that is large enough."""
    if is_nullish(value):
        return
    if not _is_number(value) or not float(value).is_integer():  # type: ignore[arg-type]
        raise _refused(name, "an integer")
    if least is not None and value < least:  # type: ignore[operator]
        raise _refused(name, f">= {least}")


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refused(name: str, wanted: str) -> PackageError:
    return PackageError("AI_InvalidArgumentError", f"Invalid argument for parameter {name}: must be {wanted}")


def named_headers(store: Store, headers: Value, package: str) -> Ref:
    """The headers with the package's name at the end of the user agent, their names in small letters.

    Raises:
        NotEmulatedError: for headers that are not texts and numbers under names of headers.
    """
    named: dict[str, Value] = {}
    for name, value in _entries(store, headers):
        if not is_nullish(value):
            named[name.lower()] = _header(store, name, value)
    agent = text(store, or_else(named.get("user-agent", UNDEFINED), ""))
    named["user-agent"] = f"{agent} {package}".strip()
    return store.object({name: named[name] for name in sorted(named)})


def _entries(store: Store, headers: Value) -> Iterable[tuple[str, Value]]:
    if is_array(store, headers):
        raise NotEmulatedError("settings", "a list of headers", "give an object")
    return fields(store, headers).items()


def _header(store: Store, name: str, value: Value) -> str:
    shown = "" if is_object(value) else text(store, value).strip(" \t\r\n")
    if is_object(value) or not _TOKEN.fullmatch(name) or not shown.isascii() or not shown.isprintable():
        raise NotEmulatedError("settings", f"the header {name}", "give a text of printable ASCII")
    return shown
