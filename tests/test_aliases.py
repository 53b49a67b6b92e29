"""Modules can be imported by the names that they had before they moved into rooms."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

from agentcore import aliases
from agentcore.aliases import ALIASES

# Named by what people have read: README, the specification, reports of faults.
NAMED = (
    "agentcore.compat",
    "agentcore.compat.heap",
    "agentcore.compat.mastra",
    "agentcore.compat.strands.pull_request",
    "agentcore.content",
    "agentcore.models",
    "agentcore.oracle.ai_sdk",
    "agentcore.oracle.ai_sdk.reference",
    "agentcore.oracle.families",
    "agentcore.saved",
    "agentcore.step",
    "agentcore.tools",
)


@pytest.mark.parametrize(("old", "new"), ALIASES.items())
def test_an_old_name_is_the_module_that_took_its_place(old: str, new: str) -> None:
    module = import_module(old)
    assert module is sys.modules[new]
    assert module.__name__ == new
    assert module.__spec__ is not None
    assert module.__spec__.name == new


def test_no_old_name_hides_a_module() -> None:
    found = [old for old in ALIASES if old in ALIASES.values()]
    assert found == []


@pytest.mark.parametrize("old", NAMED)
def test_what_was_written_about_has_an_old_name(old: str) -> None:
    assert old in ALIASES


def test_old_names_work_whatever_is_imported_first() -> None:
    source = (
        "from agentcore.saved import load\n"
        "from agentcore.compat.heap import Heap\n"
        "import agentcore.compat.mastra.loop\n"
        "from agentcore.compat import mastra, run\n"
        "import agentcore.step\n"
        "from agentcore import heap, step\n"
        "from agentcore.heap.heap import Heap as same\n"
        "from agentcore.records import saved\n"
        "from agentcore.agent import Agent\n"
        "from agentcore.messages import UserMessage\n"
        "assert Heap is same and load is saved.load and callable(step)\n"
        "assert agentcore.compat.mastra.loop.__name__ == 'agentcore.frameworks.mastra.emulation.loop'\n"
    )
    subprocess.run([sys.executable, "-c", source], check=True)


def test_an_old_name_takes_no_attribute_of_a_package() -> None:
    source = (
        "import agentcore.tools.tool, agentcore.driver.call, agentcore.models.base\n"
        "from agentcore.agent.tools import tool\n"
        "from agentcore.tools import tool as same\n"
        "assert tool is same and not hasattr(tool, '__path__') and callable(tool)\n"
    )
    subprocess.run([sys.executable, "-c", source], check=True)


def test_a_name_that_never_was_is_not_found() -> None:
    assert find_spec("agentcore.compat.nothing") is None
    with pytest.raises(ModuleNotFoundError, match=r"agentcore\.nothing"):
        import_module("agentcore.nothing")


def test_a_second_call_adds_no_second_finder() -> None:
    before = [*sys.meta_path]
    aliases.install()
    assert sys.meta_path == before
