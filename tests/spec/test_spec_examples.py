"""What the specification shows is so: its programs are run, and its Python."""

from __future__ import annotations

import contextlib
import io
from typing import Final

import pytest

from agentcore.kit.families import PROFILE_NAMES
from agentcore.oracle.drivers.packages import TARGETS
from agentcore.oracle.spec.examples import LANGUAGES, Example, Script, failure, mismatches, scripts
from oracle.driver_commands import installed
from spec.citations import EXAMPLES, named

PROGRAMS: Final = [example for example in EXAMPLES if example.program is not None]
PYTHON: Final = [script for example in EXAMPLES for script in scripts(example, ("python",))]
FOREIGN: Final = [
    (script, target) for each in EXAMPLES for script in scripts(each, LANGUAGES) for target in script.targets
]


@pytest.mark.parametrize("example", PROGRAMS, ids=named)
def test_the_trace_of_an_example_is_as_it_says(example: Example) -> None:
    assert "\n".join(map(str, mismatches(example))) == ""


@pytest.mark.slow
@pytest.mark.parametrize("script", PYTHON, ids=lambda script: named(script.example))
def test_python_of_an_example_prints_what_stands_below_it(script: Script) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script.source, str(script.example.place), "exec"), {})  # noqa: S102 - the specification's own
    assert printed.getvalue() == script.output, str(script.example.place)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "target"),
    [pytest.param(*each, id=f"{named(each[0].example)}-{each[1]}") for each in FOREIGN],
)
def test_a_program_of_another_language_writes_what_stands_below_it(script: Script, target: str) -> None:
    assert script.output
    assert failure(script, installed(target)) == ""


def test_the_errata_have_programs_of_other_languages() -> None:
    shown = [script for script, _ in FOREIGN if script.example.place.file.parent.name == "errata"]
    assert {script.language for script in shown} == {"js"}
    assert {target for _, target in FOREIGN} >= {"ai-sdk@6.0.134", "mastra@1.0.4", "strands-ts@1.19.0"}


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_an_example_can_be_run_and_names_what_there_is(example: Example) -> None:
    assert example.program is not None or [*scripts(example, ("python", "js", "py"))], str(example.place)
    assert {each.profile for each in example.expectations} <= {*PROFILE_NAMES}
    assert {target for script in scripts(example) for target in script.targets} <= {*TARGETS}


def test_every_claim_of_the_errata_is_told_with_what_is_so() -> None:
    for example in EXAMPLES:
        claims = {each.profile for each in example.expectations if each.claimed}
        assert claims <= {each.profile for each in example.expectations if not each.claimed}, str(
            example.place
        )
