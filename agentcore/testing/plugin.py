"""The pytest plugin: the fixtures `check_hook` and `handed_out`, and the marker `expected_pollution`.

pytest imports this module wherever the package is installed, so it imports nothing itself that takes time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

MARKER: Final = "expected_pollution"
GRADE: Final = "--grade-isolation"
_HANDED_OUT: Final = "handed_out"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option by which `agentcore grade` runs tests."""
    group = parser.getgroup("agentcore")
    what = f"run the tests that ask for {_HANDED_OUT} under each copy depth, and write their outcomes to FILE"
    group.addoption(GRADE, metavar="FILE", default=None, help=what)


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(*paths, reason=''): the hook is expected to write in place, at these paths if any are"
        " named, such as '$[*].content'; the test fails if it does not.",
    )
    file = config.getoption(GRADE)
    if file is not None and not hasattr(config, "workerinput"):
        from agentcore.testing.grading import Recorder  # noqa: PLC0415 - whoever does not use it needs none

        config.pluginmanager.register(Recorder(Path(file)))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs tests of isolation once for each copy depth, if they are graded."""
    if metafunc.config.getoption(GRADE) is not None and _HANDED_OUT in metafunc.fixturenames:
        from agentcore.testing.grading import DEPTHS  # noqa: PLC0415 - as above

        metafunc.parametrize(_HANDED_OUT, DEPTHS, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves other tests out, if tests are graded, and notes under which depth each runs."""
    if config.getoption(GRADE) is None:
        return
    from agentcore.testing.grading import note  # noqa: PLC0415 - as above

    others = [each for each in items if not note(each)]
    config.hook.pytest_deselected(items=others)
    items[:] = [each for each in items if each not in others]


@pytest.fixture
def handed_out(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """Hands out messages as a framework would: a function of the messages that returns what a hook gets.

    Nothing is shared, unless `agentcore grade` runs the test: it shares as much as each copy depth does, and
    the test has to fail.
    """
    from agentcore.testing.grading import ISOLATION, HandOut  # noqa: PLC0415 - as above

    if request.config.getoption(GRADE) is None:
        return HandOut(ISOLATION)
    from agentcore.testing.grading import noted  # noqa: PLC0415 - as above

    return noted(request.node)


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
