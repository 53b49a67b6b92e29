from __future__ import annotations

from typing import Any

import pytest

from agentcore.kit.safe_text import bounded, brief, cut, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nhere é 你 🙂", "plain\ttext\nhere é 你 🙂"),
        ("\x1b[2J", "\\u001b[2J"),
        ("\x00\x07\x7f\x9b", "\\u0000\\u0007\\u007f\\u009b"),
        ("\r\x0b\x0c", "\\u000d\\u000b\\u000c"),
        ("\ud800 \udfff", "\\ud800 \\udfff"),
        ("\u202e\u2066\u200b\ufeff\uffff", "\\u202e\\u2066\\u200b\\ufeff\\uffff"),
        ("\u2028\u2029", "\\u2028\\u2029"),
    ],
)
def test_characters_that_would_not_be_seen_are_written_as_escapes(text: str, shown: str) -> None:
    assert visible(text) == shown
    visible(text).encode()


def test_long_texts_are_cut_and_say_how_long_they_were() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "abc... (4 characters)"


def test_json_is_bounded_in_each_text_list_and_object() -> None:
    value = {"a": "x" * 9, "b" * 9: [1, 2, 3, 4], "c": {"d": True}}
    assert bounded(value, length=4, items=3) == {
        "a": "xxxx... (9 characters)",
        "bbbb... (9 characters)": [1, 2, 3, "... (4 items)"],
        "c": {"d": True},
    }
    assert bounded({"a": 1, "b": 2}, items=1) == {"a": 1, "...": "2 keys"}
    assert bounded(value) == value


def test_json_is_bounded_in_its_depth() -> None:
    deep: Any = "end"
    for _ in range(5_000):
        deep = [deep]
    assert bounded(deep, levels=2) == [["..."]]
    assert brief(deep) == "[[[[['...']]]]]"


def test_a_value_is_told_briefly_whatever_its_size() -> None:
    assert brief("it's") == '"it\'s"'
    assert brief({"a": [True, None, 1.5]}) == "{'a': [True, None, 1.5]}"
    assert len(brief(["x" * 1_000_000] * 1_000)) < 300
