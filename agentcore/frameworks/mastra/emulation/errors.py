"""Errors of the package, and what of them reaches the caller."""

from __future__ import annotations

from typing import Any, Self

import attrs

from agentcore.heap.js import PackageError


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
        """What is left of an error that went through JSON: its class and cause are not."""
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
