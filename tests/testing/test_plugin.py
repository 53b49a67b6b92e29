"""The plugin, in test runs of its own: what fails, with what text, and what it does to others' tests."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

import pytest

PROJECT: Final = Path(__file__).parent.parent.parent / "pyproject.toml"
MODULE: Final = "agentcore.testing.plugin"
INSTALLED: Final = any(point.value == MODULE for point in entry_points(group="pytest11"))
OPTIONS: Final = () if INSTALLED else ("-p", MODULE)

TESTS: Final = """
    import pytest

    def shout(messages):
        for message in messages:
            if message["role"] == "user":
                message["content"] = "HEY"
        return messages

    def mended(messages):
        return [{**each, "content": "HEY"} if each["role"] == "user" else each for each in messages]

    FAST = {"profiles": ("ai-sdk-6/generate",), "examples": 5}

    def test_faulty(check_hook):
        check_hook(shout, **FAST)

    def test_mended(check_hook):
        check_hook(mended, **FAST)

    @pytest.mark.expected_pollution(reason="until it is mended")
    def test_expected(check_hook):
        check_hook(shout, **FAST)

    @pytest.mark.expected_pollution("$[*].content")
    def test_expected_there(check_hook):
        check_hook(shout, **FAST)

    @pytest.mark.expected_pollution("$[*].role")
    def test_expected_elsewhere(check_hook):
        check_hook(shout, **FAST)

    @pytest.mark.expected_pollution
    def test_expected_in_vain(check_hook):
        check_hook(mended, **FAST)

    @pytest.mark.expected_pollution
    def test_without_the_fixture():
        pass

    @pytest.mark.expected_pollution
    def test_without_a_call(check_hook):
        pass

    def test_unrelated():
        pass
"""


@pytest.mark.slow
def test_faulty_hooks_fail_and_mended_ones_pass(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest(*OPTIONS, "--strict-markers", "-p", "no:cacheprovider", "-rA")
    result.assert_outcomes(passed=5, failed=3, errors=2)
    result.stdout.fnmatch_lines(
        [
            "*HookFaultError: shout writes in place at step 0: it changes $[[]0[]].content",
            "E*$[[]0[]].content: '#1' -> 'HEY'",
            "E*ai-sdk-6/generate: $.caller[[]0[]].content is 'HEY', not '#1'",
            "E*the smallest conversation that shows it:",
            'E*"content": "#1"',
            "E*NothingPollutedError: mended was expected to write in place, and did not in 5 *",
        ]
    )
    result.stdout.fnmatch_lines_random(
        [
            "marked expected_pollution, and does not use check_hook",
            "marked expected_pollution, and calls no check_hook",
            "PASSED *::test_mended",
            "PASSED *::test_expected",
            "PASSED *::test_expected_there",
            "PASSED *::test_without_a_call",
            "PASSED *::test_unrelated",
            "FAILED *::test_faulty - *",
            "FAILED *::test_expected_elsewhere*",
            "FAILED *::test_expected_in_vain*",
            "ERROR *::test_without_the_fixture*",
            "ERROR *::test_without_a_call*",
        ]
    )


def test_a_marked_test_fails_if_its_hook_does_not_write_or_is_not_checked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        # Without profiles a hook is only looked at for itself.
        FAST = {"profiles": (), "examples": 1}

        def shout(messages):
            messages[0]["content"] = "HEY"

        @pytest.mark.expected_pollution("$[*].content")
        def test_expected_there(check_hook):
            check_hook(shout, **FAST)

        @pytest.mark.expected_pollution
        def test_expected_in_vain(check_hook):
            check_hook(lambda messages: messages, **FAST)

        @pytest.mark.expected_pollution
        def test_without_the_fixture():
            pass

        @pytest.mark.expected_pollution
        def test_without_a_call(check_hook):
            pass
        """
    )
    result = pytester.runpytest(*OPTIONS, "--strict-markers", "-p", "no:cacheprovider", "-rA")
    result.assert_outcomes(passed=2, failed=1, errors=2)
    result.stdout.fnmatch_lines_random(
        [
            "marked expected_pollution, and does not use check_hook",
            "marked expected_pollution, and calls no check_hook",
            "PASSED *::test_expected_there",
            "FAILED *::test_expected_in_vain*",
        ]
    )


def test_a_hook_is_checked_in_the_framework_that_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        AT = {"framework": "live.toy_loop:ADAPTER", "at": "before_model", "examples": 1}

        def test_polluting(check_hook):
            def hook(messages):
                messages[0]["content"][0]["text"] = "!"
            check_hook(hook, **AT)

        def test_clean(check_hook):
            check_hook(lambda messages: None, **AT)
        """
    )
    result = pytester.runpytest(*OPTIONS, "-p", "no:cacheprovider", "-rA")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*LiveFaultError: *", "FAILED *::test_polluting*"])


def test_the_marker_is_told_of(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*OPTIONS, "--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.expected_pollution(*paths, reason=''): *"])


@pytest.mark.slow
def test_the_fixture_needs_no_hypothesis(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import sys\nsys.modules['hypothesis'] = None")
    pytester.makepyfile("def test_hook(check_hook):\n    check_hook(list, examples=2)")
    result = pytester.runpytest_subprocess(*OPTIONS, "-p", "no:hypothesispytest", "-rA")
    result.assert_outcomes(passed=1)


@pytest.mark.slow
def test_pytest_imports_next_to_nothing_for_those_who_do_not_use_it() -> None:
    source = (
        f"import sys, pytest\nbefore = {{*sys.modules}}\nimport {MODULE}\n"
        "print(*sorted({name for name in sys.modules if name not in before}))"
    )
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [
        "agentcore",
        "agentcore.aliases",
        "agentcore.testing",
        MODULE,
        "lazy_loader",
    ]


@pytest.mark.slow
def test_the_plugin_is_what_the_project_gives_pytest() -> None:
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"agentcore": MODULE}
