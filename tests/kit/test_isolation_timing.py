from __future__ import annotations

from typing import Any, Final

from agentcore.kit.isolation import FEATURE, timed, timeless, varied

Json = dict[str, Any]
TOOLS: Final[Json] = {"look": {"output": 1}, "save": {"output": 2}}


def test_times_are_taken_out_and_put_back() -> None:
    slow = {"tools": {"look": {"output": 1, "takes": 3}, "save": {"output": 2}}}
    assert timeless(slow) == {"tools": TOOLS}
    assert timed(slow, {"tools": TOOLS, "id": "v"}) == {**slow, "id": "v"}
    assert timed({"tools": TOOLS}, {"tools": TOOLS}) is None
    assert timeless({"id": "a"}) == {"id": "a"}


def test_the_tool_that_is_called_first_ends_last() -> None:
    found = varied({"tools": TOOLS}, [["look"], ["save", "look"]], {FEATURE})
    assert found["tools"]["save"]["takes"] > found["tools"]["look"].get("takes", 0)


def test_nothing_is_varied_without_tools_that_run_at_once_or_where_times_are_there() -> None:
    program = {"tools": TOOLS}
    assert varied(program, [["look", "save"]], ()) == program
    assert varied(program, [["look", "look"], ["save"], ["absent", "look"]], {FEATURE}) == program
    slow = {"tools": {"look": {"output": 1, "takes": 3}, "save": {"output": 2}}}
    assert varied(slow, [["look", "save"]], {FEATURE}) == slow
