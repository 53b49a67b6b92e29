"""The benchmark of `isolate` measures a hook that does its work, isolated or not."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from agentcore.live import isolate
from benchmarks.isolate import LOOP, conversation, costs, main, shorten


@pytest.mark.parametrize("size", [10, 30])
def test_the_isolated_hook_returns_what_the_hook_returns_and_keeps_the_other_messages(size: int) -> None:
    messages = conversation(size)
    returned = isolate(shorten, framework=LOOP, at="before_model")(messages)
    assert returned == shorten(messages)
    changed = [index for index, each in enumerate(returned) if each is not messages[index]]
    assert [messages[index]["role"] for index in changed] == ["tool"]


def test_each_way_to_call_the_hook_is_timed() -> None:
    found = costs(10, 1)
    assert set(found) == {"alone", "copied", "first", "later"}
    assert all(each > 0 for each in found.values())


def test_the_table_has_a_row_for_each_size() -> None:
    lines = CliRunner().invoke(main, ["--rounds", "1"]).output.splitlines()
    assert [line.split()[0] for line in lines] == ["messages", "10", "100", "1000"]
