"""The pytest plugin: the fixture `check_hook` and the marker `expected_pollution`.

pytest imports this module wherever the package is installed, so it imports nothing itself that takes time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

MARKER: Final = "expected_pollution"


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(*paths, reason=''): the hook is expected to write in place, at these paths if any are"
        " named, such as '$[*].content'; the test fails if it does not.",
    )


@pytest.fixture
def check_hook(request: pytest.FixtureRequest) -> Iterator[Callable[..., None]]:
    """Runs a hook over random conversations; see `agentcore.testing.check_hook`.

    In a test that is marked `expected_pollution`, writes in place are expected. With `framework` and `at`
    the hook is checked in the framework that is installed; see `agentcore.live.checking.check_live_hook`.
    """
    marker = request.node.get_closest_marker(MARKER)
    called: list[Any] = []

    def checked(hook: Callable[..., Any], **options: Any) -> None:
        __tracebackhide__ = True
        called.append(hook)
        if "framework" in options:
            from agentcore.live.checking import check_live_hook  # noqa: PLC0415 - whoever does not use it needs none

            check_live_hook(hook, **options)
            return
        from agentcore.testing.hooks import check_hook as check  # noqa: PLC0415 - as above

        if marker is not None:
            options.setdefault("expected_pollution", marker.args)
        check(hook, **options)

    yield checked
    if marker is not None and not called:
        pytest.fail(f"marked {MARKER}, and calls no check_hook", pytrace=False)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A marked test that cannot use the fixture fails, because its marker says nothing."""
    if item.get_closest_marker(MARKER) is not None and "check_hook" not in getattr(item, "fixturenames", ()):
        pytest.fail(f"marked {MARKER}, and does not use check_hook", pytrace=False)
