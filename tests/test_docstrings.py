"""Every public name is documented to the last parameter, result and error.

Public are the names of `agentcore/__init__.pyi` and the methods of its classes. Ruff compares results and
errors of a function with its docstring. Parameters are compared here: ruff compares those of a section
`Args` only, and short docstrings have none.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

import agentcore

ROOT: Final = Path(__file__).parents[1]
# Results (DOC201, DOC402) and errors (DOC501). Not DOC502: errors that pass through are documented, too.
_RULES: Final = "DOC201,DOC402,DOC501,D417"


@attrs.frozen(eq=False)
class Documented:
    """A public function or method, and the lines of its source."""

    name: str
    function: Callable[..., Any]

    @property
    def lines(self) -> tuple[str, range]:
        source, first = inspect.getsourcelines(self.function)
        return str(inspect.getsourcefile(self.function)), range(first, first + len(source))


def _functions() -> Iterator[Documented]:
    for name in dir(agentcore):
        value = getattr(agentcore, name)
        if inspect.isfunction(value):
            yield Documented(name, value)
        elif inspect.isclass(value):
            for own, attribute in vars(value).items():
                function = inspect.unwrap(getattr(attribute, "__func__", attribute))
                # What attrs and other libraries have put into the class is documented there.
                ours = inspect.isfunction(function) and function.__module__.startswith("agentcore.")
                if ours and not own.startswith("_"):
                    yield Documented(f"{name}.{own}", function)


FUNCTIONS: Final = tuple(_functions())


def parameters_without_words(function: Callable[..., Any], *, known: str = "") -> list[str]:
    """The parameters that neither the docstring nor `known` mentions."""
    documented = f"{inspect.getdoc(function)}\n{known}"
    names = [
        each.name
        for each in inspect.signature(function).parameters.values()
        # The refusing mutators of read-only lists and dicts take whatever there is.
        if each.name not in {"self", "cls", "args"} and not each.name.startswith("_")
    ]
    return [
        name for name in names if not re.search(rf"`{name}`|^ *\*{{0,2}}{name}: ", documented, re.MULTILINE)
    ]


@functools.cache
def _found() -> dict[str, list[tuple[int, str]]]:
    files = sorted({each.lines[0] for each in FUNCTIONS})
    argv = [sys.executable, "-m", "ruff", "check", "--preview", "--select", _RULES, "--output-format", "json"]
    found = subprocess.run([*argv, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    faults: dict[str, list[tuple[int, str]]] = {}
    for each in json.loads(found.stdout):
        # A function that makes an error and is raised, such as `located(...)`: ruff takes it for the error.
        if not re.search(r"exception `_?[a-z]", each["message"]):
            faults.setdefault(each["filename"], []).append((each["location"]["row"], each["message"]))
    return faults


@pytest.mark.parametrize("each", FUNCTIONS, ids=[each.name for each in FUNCTIONS])
def test_a_public_function_documents_its_parameters_result_and_errors(each: Documented) -> None:
    file, lines = each.lines
    assert [text for line, text in _found().get(file, ()) if line in lines] == []
    # "as `generate` does": what is written there once is not written again.
    owner = each.name.rpartition(".")[0]
    named = re.findall(r"`(?:(\w+)\.)?(\w+)`", inspect.getdoc(each.function) or "")
    others = {one.name: one.function for one in FUNCTIONS}
    known = [
        inspect.getdoc(others[name]) or ""
        for kind, own in named
        if (name := f"{kind or owner}.{own}") in others
    ]
    assert parameters_without_words(each.function, known="\n".join(known)) == []


def test_every_public_name_has_a_docstring_of_its_own() -> None:
    values = {name: getattr(agentcore, name) for name in dir(agentcore)}
    values = {
        name: value for name, value in values.items() if inspect.isclass(value) or inspect.isfunction(value)
    }
    undocumented = [
        name
        for name, value in values.items()
        # A class has the docstring of its base, unless it has one of its own.
        if not ((vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__) or "").strip()
    ]
    assert undocumented == []


def test_a_parameter_that_no_sentence_mentions_is_found() -> None:
    def shortened(text: str, length: int, *, mark: str = "...") -> str:
        """Return the text.

        Args:
            length: of the result.
        """
        return text[:length] + mark

    assert parameters_without_words(shortened) == ["text", "mark"]
    assert parameters_without_words(shortened, known="`text` ends in `mark`.") == []


def test_ruff_finds_results_and_errors_that_are_not_documented(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        'def half(value: int) -> int:\n    """Halve it."""\n    if value % 2:\n        raise ValueError\n'
        "    return value // 2\n",
        "utf-8",
    )
    argv = [sys.executable, "-m", "ruff", "check", "--preview", "--isolated", "--select", _RULES]
    found = subprocess.run(
        [*argv, "--output-format", "json", file], capture_output=True, text=True, check=False
    )
    assert sorted(each["code"] for each in json.loads(found.stdout)) == ["DOC201", "DOC501"]
