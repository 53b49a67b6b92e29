"""A finding as a test case to paste into one's own tests."""

from __future__ import annotations

from pprint import pformat
from typing import Any, Final

__all__ = ["pytest_case"]

_CASE: Final = """\
CONVERSATION = {conversation}


def test_{name}_{kind}(check_hook):
    check_hook(
        {hook!r},
        framework={framework!r},
        at={at!r},
        path={path!r},
        conversations=[CONVERSATION],{more}
    )
"""


def pytest_case(  # noqa: PLR0913, PLR0917 - what a test consists of
    hook: str, framework: str, at: str, path: str, kind: str, conversation: dict[str, Any], *, factory: bool
) -> str:
    """Returns a test that fails as long as the hook shows the finding in the conversation.

    Args:
        hook: `FILE#EXPORT` or `module:attribute`, as the command takes it.
        framework: the value of `--in`.
        at: the boundary.
        path: the framework's path.
        kind: the finding's kind.
        conversation: the smallest conversation that shows it.
        factory: whether the export makes the hook.
    """
    printed = pformat(conversation, width=100, sort_dicts=False)
    name = "".join(
        letter if letter.isalnum() else "_" for letter in hook.rpartition("#")[2].rpartition(":")[2]
    )
    return _CASE.format(
        conversation=printed,
        name=name.lower(),
        kind=kind.replace("-", "_"),
        hook=hook,
        framework=framework,
        at=at,
        path=path,
        more="\n        factory=True," if factory else "",
    )
