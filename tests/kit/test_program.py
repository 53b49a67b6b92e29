from __future__ import annotations

import json
from functools import partial
from typing import Any, NoReturn

import pytest

from agentcore.errors import AgentCoreError
from agentcore.kit.program import MAX_DEPTH, BadProgram, check_program, parse_program, program_to_line
from counting import bytes_of


def anything(_: dict[str, Any]) -> None:
    pass


def nothing(_: dict[str, Any]) -> NoReturn:
    raise BadProgram("is nothing that I know", "$.here", 7)


read = partial(parse_program, check=anything)


def refusal(line: str | bytes) -> BadProgram:
    with pytest.raises(BadProgram) as caught:
        read(line)
    return caught.value


def test_what_the_format_says_of_a_program_is_told() -> None:
    with pytest.raises(BadProgram, match="nothing that I know") as caught:
        parse_program("{}", nothing)
    assert (caught.value.path, caught.value.id) == ("$.here", 7)
    assert str(caught.value) == "$.here: is nothing that I know"
    with pytest.raises(BadProgram, match="nothing that I know"):
        check_program({}, nothing)


def test_a_line_has_the_fields_of_the_format_in_their_order_or_all_as_they_are() -> None:
    program = {"b": "\n\ud800", "a": 1, "c": {"b": 1, "a": 2}}
    assert program_to_line(program) == '{"b":"\\n\\ud800","a":1,"c":{"b":1,"a":2}}'
    assert program_to_line(program, ("a", "c", "z")) == '{"a":1,"c":{"b":1,"a":2}}'
    assert read(program_to_line(program)) == program


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("{} {}", "Extra data"),
        ("[]", "a program is a JSON object"),
        ("null", "a program is a JSON object"),
        (b"\xff{}", "is not UTF-8 (byte 0)"),
        ('{"a": NaN}', "JSON has no such number"),
        ('{"a": -Infinity}', "JSON has no such number"),
        ('{"a": 1e999}', "the number 1e999 is beyond"),
        ('{"a": ' + "9" * 5000 + "}", "the number 999999999999... is beyond"),
        ("[" * 100_000, f"more than {MAX_DEPTH} levels"),
        ('{"a":' * 500 + "1" + "}" * 500, f"more than {MAX_DEPTH} levels"),
    ],
)
def test_a_line_that_is_no_program_is_a_typed_error(line: str | bytes, reason: str) -> None:
    error = refusal(line)
    assert reason in error.reason
    assert isinstance(error, AgentCoreError)
    assert error.wire_name == "BadProgram"
    assert error.id is None


def test_the_id_is_told_when_the_rest_is_too_deep() -> None:
    line = '{"id":"deep","messages":' + "[" * 200 + "]" * 200 + "}"
    assert refusal(line).id == "deep"
    assert refusal('{"id":true,"messages":' + "[" * 200 + "]" * 200 + "}").id is None


def test_a_wide_program_is_not_a_deep_one() -> None:
    program = {"id": "a", "messages": [[[]] for _ in range(200)]}
    assert read(json.dumps(program)) == program


def test_numbers_are_those_of_javascript() -> None:
    content = read('{"n": [1.0, -0.0, 9007199254740993, 9007199254740991, 0.5]}')["n"]
    assert content == [1, 0, 9007199254740992, 9007199254740991, 0.5]
    assert [type(number) for number in content] == [int, int, float, int, float]


def test_an_escaped_proto_key_is_still_one() -> None:
    assert "__proto__" in refusal(r'{"id":"a","__pro\u0074o__":1}').reason


def test_proto_in_a_text_is_data() -> None:
    assert read('{"text": "__proto__"}') == {"text": "__proto__"}


def test_a_value_in_memory_is_held_against_the_same_rules_as_a_line() -> None:
    check_program({"id": "a"}, anything)
    wrong: list[Any] = [[], {"a": [{"__proto__": 1}]}]
    for value in wrong:
        with pytest.raises(BadProgram):
            check_program(value, anything)
    deep: list[Any] = []
    for _ in range(MAX_DEPTH):
        deep = [deep]
    with pytest.raises(BadProgram, match="levels deep"):
        check_program({"a": deep}, anything)


LONG = "k" * 20_000


@pytest.mark.parametrize(
    "value",
    [
        {LONG: [[]] * 2_000},
        {LONG: [{"a": 1}] * 2_000},
        {LONG: {f"{n}": {} for n in range(2_000)}},
        [[[{LONG: [[[], {}]] * 1_000}]]],
    ],
)
def test_no_path_is_made_of_what_is_not_reported(value: Any) -> None:
    line = json.dumps({"id": "é", "value": value})
    assert "\\u" in line
    assert bytes_of(lambda: read(line)) < 4_000_000
    program = {"id": "a", "value": value}
    assert bytes_of(lambda: check_program(program, anything)) < 2_000_000


def test_the_path_of_a_key_that_no_program_has_is_whole() -> None:
    with pytest.raises(BadProgram) as caught:
        check_program({"a": [0, {"b c": [{"__proto__": 1}]}]}, anything)
    assert caught.value.path == "$.a[1].b c[0]"
