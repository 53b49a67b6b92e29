"""Messages of content, prompts of messages, calls of approvals: rules of ai@6.0.134 on hand-made cells."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agentcore.frameworks.ai_sdk.emulation.history import (
    Approval,
    check_messages,
    check_system,
    collect_approvals,
    denied_result,
    provider_responses,
)
from agentcore.frameworks.ai_sdk.emulation.prompts import prompt
from agentcore.frameworks.ai_sdk.emulation.results import Conversion, or_null
from agentcore.heap.heap import UNDEFINED, ErrorCell, HeapTypeError, Ref, Slot, Store, Value
from agentcore.heap.js import PackageError, elements, get

USER: Final = {"role": "user", "content": "hi"}
OPTIONS: Final = {"p": {"k": 1}}
PNG: Final = "iVBORw0KGgo="


def call(call_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": "t", "input": {"q": 1}, **more}


def result(call_id: str, **more: Any) -> dict[str, Any]:
    output = {"type": "json", "value": call_id}
    return {"type": "tool-result", "toolCallId": call_id, "toolName": "t", "output": output, **more}


def request(approval_id: str, call_id: str) -> dict[str, Any]:
    return {"type": "tool-approval-request", "approvalId": approval_id, "toolCallId": call_id}


def response(approval_id: str, *, approved: bool = True, **more: Any) -> dict[str, Any]:
    return {"type": "tool-approval-response", "approvalId": approval_id, "approved": approved, **more}


def assistant(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts), **more}


def tool(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": list(parts), **more}


@pytest.fixture
def store() -> Store:
    return Store()


def prompted(store: Store, *messages: Any, system: Any = UNDEFINED) -> Any:
    return store.plain(prompt(store, store.load(system), store.load(list(messages))))


def refused(store: Store, *messages: Any, system: Any = UNDEFINED) -> str:
    with pytest.raises(PackageError) as caught:
        prompted(store, *messages, system=system)
    return caught.value.name


# ---------------------------------------------------------------- what a call is given


def test_messages_are_a_list_of_one_or_more_model_messages(store: Store) -> None:
    check_messages(store, store.load([USER]))
    for wrong, told in (([], "must not be empty"), ([{"role": "robot", "content": "x"}], "schema")):
        with pytest.raises(PackageError, match=told) as caught:
            check_messages(store, store.load(wrong))
        assert caught.value.name == "AI_InvalidPromptError"


@pytest.mark.parametrize(
    "system", [UNDEFINED, None, "x", {"role": "system", "content": "x"}, [], [{"role": "system"}]]
)
def test_a_system_prompt_is_text_or_system_messages(store: Store, system: Any) -> None:
    check_system(store, store.load(system))


@pytest.mark.parametrize("system", [1, {"role": "user", "content": "x"}, ["x"], [{"role": "system"}, USER]])
def test_another_system_prompt_is_refused(store: Store, system: Any) -> None:
    with pytest.raises(PackageError) as caught:
        check_system(store, store.load(system))
    assert caught.value.name == "AI_InvalidPromptError"


# ---------------------------------------------------------------- approvals


def approvals(store: Store, *messages: Any) -> tuple[list[Any], list[Any]]:
    approved, denied = collect_approvals(store, store.load(list(messages)))
    ids = [[get(store, one.call, "toolCallId") for one in several] for several in (approved, denied)]
    return ids[0], ids[1]


def test_approvals_are_looked_for_in_a_last_message_of_a_tool(store: Store) -> None:
    asked = assistant(call("a"), request("A", "a"))
    assert approvals(store) == ([], [])
    assert approvals(store, asked, tool(response("A")), USER) == ([], [])
    assert approvals(store, asked, tool(response("A"))) == (["a"], [])


def test_answers_are_told_apart_and_answered_calls_left_out(store: Store) -> None:
    asked = assistant(
        call("a"), call("b"), call("c"), request("A", "a"), request("B", "b"), request("C", "c")
    )
    said = {"role": "assistant", "content": "text has no calls"}
    listed = assistant({"type": "text", "text": "nor has this"})
    answers = tool(response("A", approved=False), response("B"), response("C"), result("b"))
    assert approvals(store, said, listed, asked, answers) == (["c"], ["a"])


def test_an_answer_to_no_request_and_a_request_of_no_call_are_refused(store: Store) -> None:
    for messages, name in (
        ((assistant(call("a")), tool(response("A"))), "AI_InvalidToolApprovalError"),
        ((assistant(request("A", "a")), tool(response("A"))), "AI_ToolCallNotFoundForApprovalError"),
    ):
        with pytest.raises(PackageError) as caught:
            approvals(store, *messages)
        assert caught.value.name == name


def approval(store: Store, **answer: Any) -> Approval:
    made = store.load(call("a", **({"providerExecuted": True} if answer.pop("executed", False) else {})))
    asked = store.load(request("A", "a"))
    return Approval(request=asked, response=store.load(response("A", **answer)), call=made)


def test_a_denied_call_has_a_result_that_says_so(store: Store) -> None:
    denied = approval(store, approved=False, reason="no")
    assert store.plain(denied_result(store, denied, with_approval_id=True)) == {
        "type": "tool-result",
        "toolCallId": "a",
        "toolName": "t",
        "output": {"type": "execution-denied", "reason": "no"},
    }


def test_a_denied_call_of_the_providers_names_the_approval_where_the_path_does(store: Store) -> None:
    denied = approval(store, approved=False, executed=True)
    with_id, without = (
        store.plain(denied_result(store, denied, with_approval_id=named))["output"] for named in (True, False)
    )
    assert with_id == {"type": "execution-denied", "providerOptions": {"openai": {"approvalId": "A"}}}
    assert without == {"type": "execution-denied"}


def test_the_provider_is_handed_the_answers_about_its_own_calls(store: Store) -> None:
    handed = provider_responses(
        store, [approval(store, approved=True), approval(store, approved=False, reason="no")]
    )
    parts = [
        response("A", approved=True, providerExecuted=True),
        response("A", approved=False, reason="no", providerExecuted=True),
    ]
    assert store.plain(handed) == tool(*parts)


# ---------------------------------------------------------------- content -> messages


def nothing(name: Value, call_id: Value, input: Value, output: Value) -> Slot | None:  # noqa: A002, ARG001
    return None


def converted(store: Store, *parts: Any) -> Any:
    return [store.plain(ref) for ref in Conversion(store, nothing).messages(store.load(list(parts)))]


def test_content_becomes_one_assistant_and_one_tool_message(store: Store) -> None:
    parts = (
        {"type": "text", "text": "x", "providerMetadata": OPTIONS},
        {"type": "reasoning", "text": ""},
        call("a", providerMetadata=OPTIONS),
        {"type": "tool-result", "toolCallId": "a", "toolName": "t", "input": {}, "output": {"n": 1}},
        {"type": "tool-error", "toolCallId": "b", "toolName": "t", "input": {}, "error": "bad"},
    )
    assert converted(store, *parts) == [
        assistant(
            {"type": "text", "text": "x", "providerOptions": OPTIONS},
            {"type": "reasoning", "text": ""},
            call("a", providerOptions=OPTIONS),
        ),
        tool(
            result("a", output={"type": "json", "value": {"n": 1}}),
            result("b", output={"type": "error-text", "value": "bad"}),
        ),
    ]


def test_content_that_says_nothing_becomes_no_message(store: Store) -> None:
    empty = ({"type": "text", "text": ""}, {"type": "source", "id": "s"}, {"type": "surprise"})
    assert converted(store) == converted(store, *empty) == []


def test_a_file_and_an_approval_request_become_parts_of_their_own_shape(store: Store) -> None:
    file = {"type": "file", "file": {"base64Data": "aGk=", "mediaType": "text/plain"}}
    asked = {"type": "tool-approval-request", "approvalId": "A", "toolCall": call("a")}
    assert converted(store, file, asked) == [
        assistant({"type": "file", "data": "aGk=", "mediaType": "text/plain"}, request("A", "a"))
    ]


def test_what_the_provider_ran_stays_in_the_assistant_message(store: Store) -> None:
    ran = {"toolCallId": "a", "toolName": "t", "providerExecuted": True}
    parts = (
        call("a", providerExecuted=True),
        {"type": "tool-result", **ran, "output": "found", "providerMetadata": OPTIONS},
        {"type": "tool-error", **ran, "error": {"code": 1}},
    )
    assert converted(store, *parts) == [
        assistant(
            call("a", providerExecuted=True),
            result("a", output={"type": "text", "value": "found"}, providerOptions=OPTIONS),
            result("a", output={"type": "error-json", "value": {"code": 1}}),
        )
    ]


def test_the_metadata_of_a_clients_result_becomes_its_options(store: Store) -> None:
    part = {
        "type": "tool-result",
        "toolCallId": "a",
        "toolName": "t",
        "output": 1,
        "providerMetadata": OPTIONS,
    }
    assert converted(store, part) == [
        tool(result("a", output={"type": "json", "value": 1}, providerOptions=OPTIONS))
    ]


def test_the_wrapper_of_an_output_is_new_and_its_value_the_tools_own_object(store: Store) -> None:
    output = store.load({"n": 1})
    part = store.object({"type": "tool-result", "toolCallId": "a", "toolName": "t", "output": output})
    (message,) = Conversion(store, nothing).messages(store.array([part]))
    (inside,) = elements(store, get(store, message, "content"))
    assert get(store, get(store, inside, "output"), "value") == output


def test_a_tools_own_conversion_makes_the_output_but_not_of_errors(store: Store) -> None:
    seen: list[Any] = []

    def own(*read: Value) -> Slot:
        seen.append(read)
        return store.object({"type": "text", "value": "own"})

    conversion = Conversion(store, own)
    part = store.load({"toolName": "t", "toolCallId": "a", "input": 2})
    assert store.plain(conversion.output(part, 1)) == {"type": "text", "value": "own"}
    assert seen == [("t", "a", 2, 1)]
    assert store.plain(conversion.output(part, 1, "text")) == {"type": "error-text", "value": "1"}
    assert store.plain(conversion.output(part, UNDEFINED, "json")) == {"type": "error-json", "value": None}
    assert len(seen) == 1


def test_nothing_as_an_output_is_null_and_an_error_is_its_message(store: Store) -> None:
    conversion = Conversion(store, nothing)
    part = store.load({})
    assert store.plain(conversion.output(part, UNDEFINED)) == {"type": "json", "value": None}
    error = store.object({"name": "Error", "message": "m"}, ErrorCell)
    assert store.plain(conversion.output(part, error, "text")) == {"type": "error-text", "value": "m"}
    assert or_null(UNDEFINED) is None
    assert or_null("") == ""


def test_content_that_is_no_list_cannot_be_read(store: Store) -> None:
    with pytest.raises(HeapTypeError, match="not iterable"):
        Conversion(store, nothing).messages(1)
    with pytest.raises(HeapTypeError, match="reading 'type'"):
        converted(store, None)


# ---------------------------------------------------------------- prompts: messages


def test_text_becomes_one_part_and_a_system_message_stays_text(store: Store) -> None:
    said = {"role": "assistant", "content": "yes", "providerOptions": OPTIONS}
    assert prompted(store, {"role": "system", "content": "s"}, USER, said) == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        assistant({"type": "text", "text": "yes"}, providerOptions=OPTIONS),
    ]


def test_the_system_prompt_comes_first(store: Store) -> None:
    listed = [
        {"role": "system", "content": "a"},
        {"role": "system", "content": "b", "providerOptions": OPTIONS},
    ]
    user = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    assert prompted(store, USER, system="x") == [{"role": "system", "content": "x"}, user]
    assert prompted(store, USER, system=listed) == [*listed, user]
    assert prompted(store, USER, system=listed[1]) == [listed[1], user]
    assert prompted(store, USER, system=None) == [user]


def test_neighbouring_tool_messages_become_one_with_the_firsts_options(store: Store) -> None:
    made = prompted(
        store, assistant(call("a"), call("b")), tool(result("a"), providerOptions=OPTIONS), tool(result("b"))
    )
    assert made[1:] == [tool(result("a"), result("b"), providerOptions=OPTIONS)]


def test_tool_messages_apart_stay_apart_and_empty_ones_are_dropped(store: Store) -> None:
    history = (assistant(call("a")), tool(result("a")), USER, tool(), assistant(call("b")), tool(result("b")))
    assert [message["role"] for message in prompted(store, *history)] == [
        *("assistant", "tool", "user", "assistant", "tool")
    ]


def test_a_message_of_an_unknown_role_is_refused(store: Store) -> None:
    assert refused(store, {"role": "robot", "content": "x"}) == "AI_InvalidMessageRoleError"


def test_messages_that_are_no_list_cannot_be_read(store: Store) -> None:
    with pytest.raises(HeapTypeError, match="reading 'map'"):
        prompt(store, UNDEFINED, UNDEFINED)
    with pytest.raises(HeapTypeError, match="map is not a function"):
        prompted(store, {"role": "user", "content": {}})


# ---------------------------------------------------------------- prompts: missing results


@pytest.mark.parametrize(
    "history",
    [
        [assistant(call("a"))],
        [assistant(call("a")), USER],
        [assistant(call("a"), call("b")), tool(result("a"))],
        [assistant(call("a"), request("A", "a")), tool(response("B"))],
        [assistant(call("a")), {"role": "system", "content": "s"}, tool(result("a"))],
    ],
)
def test_a_call_without_its_result_is_refused(store: Store, history: list[Any]) -> None:
    assert refused(store, *history) == "AI_MissingToolResultsError"


def test_the_error_names_the_calls_that_are_open(store: Store) -> None:
    with pytest.raises(PackageError, match="tool call a, c"):
        prompted(store, assistant(call("a"), call("b"), call("c")), tool(result("b")))


@pytest.mark.parametrize(
    "history",
    [
        [assistant(call("a")), tool(result("a"))],
        [assistant(call("a")), assistant(call("b")), tool(result("a"), result("b")), USER],
        [assistant(call("a", providerExecuted=True))],
        # An answered call is about to be run.
        [assistant(call("a"), request("A", "a")), tool(response("A"))],
        [assistant(call("a"), request("A", "a")), tool(response("A", approved=False))],
    ],
)
def test_a_call_that_is_answered_or_the_providers_is_not_missed(store: Store, history: list[Any]) -> None:
    assert prompted(store, *history)[0]["role"] == "assistant"


def test_a_request_without_ids_answers_nothing(store: Store) -> None:
    nameless: dict[str, Any] = {"type": "tool-approval-request"}
    named = {**nameless, "approvalId": "A"}
    history = (assistant(call("a"), nameless, named), tool(response("A")))
    assert refused(store, *history) == "AI_MissingToolResultsError"


# ---------------------------------------------------------------- prompts: parts


def parts_of(store: Store, message: Any) -> Any:
    (made,) = prompted(store, message)
    return made["content"]


def test_empty_text_is_dropped_from_users_and_kept_from_the_model_if_it_has_options(store: Store) -> None:
    empty = {"type": "text", "text": ""}
    kept = {**empty, "providerOptions": OPTIONS}
    assert parts_of(store, {"role": "user", "content": [empty, kept, {"type": "text", "text": "x"}]}) == [
        {"type": "text", "text": "x"}
    ]
    assert parts_of(store, assistant(empty, kept)) == [kept]


def test_parts_are_copied_without_fields_that_prompts_do_not_have(store: Store) -> None:
    extra = {"providerOptions": OPTIONS, "extra": 1}
    listed = [
        {"type": "text", "text": "x"},
        {"type": "reasoning", "text": "r"},
        call("a", providerExecuted=True),
        result("a"),
    ]
    made = parts_of(store, assistant(*({**part, **extra} for part in listed), request("A", "a")))
    assert made == [{**part, "providerOptions": OPTIONS} for part in listed]


def test_payloads_are_shared_and_containers_are_new(store: Store) -> None:
    messages = store.load([assistant(call("a", providerExecuted=True, providerOptions=OPTIONS), result("a"))])
    heap_before = store.heap()
    made = prompt(store, UNDEFINED, messages)
    heap = store.heap()
    paths = {path: address for address, path in heap.reached(made).items()}
    shared = {path for path, address in paths.items() if address < len(heap_before.cells)}
    assert shared == {
        (0, "content", 0, "input"),
        (0, "content", 0, "providerOptions"),
        (0, "content", 0, "providerOptions", "p"),
        (0, "content", 1, "output"),
    }


def test_a_file_of_the_models_keeps_its_name_and_the_type_that_its_data_tells(store: Store) -> None:
    file = {"type": "file", "data": "data:text/plain;base64,aGk=", "mediaType": "a/b", "filename": "f"}
    assert parts_of(store, assistant(file)) == [{**file, "data": "aGk=", "mediaType": "text/plain"}]
    assert parts_of(store, assistant({**file, "data": "aGk="})) == [{**file, "data": "aGk="}]


def test_a_part_of_an_unknown_type_of_the_models_or_a_tools_breaks_the_reading(store: Store) -> None:
    for message in (assistant({"type": "surprise"}), tool({"type": "surprise"})):
        with pytest.raises(HeapTypeError, match="reading 'type'"):
            prompted(store, message)


def test_only_answers_about_the_providers_calls_reach_the_prompt(store: Store) -> None:
    theirs = response("A", providerExecuted=True, reason="r")
    assert parts_of(store, tool(response("B"), theirs)) == [response("A", reason="r")]


# ---------------------------------------------------------------- prompts: outputs


def test_an_output_is_the_wrapper_itself_but_made_anew_for_content(store: Store) -> None:
    items = [
        {"type": "text", "text": "x"},
        {"type": "media", "data": "d", "mediaType": "image/png"},
        {"type": "media", "data": "d", "mediaType": "a/b"},
    ]
    made = parts_of(store, assistant(result("a", output={"type": "content", "value": items, "extra": 1})))
    assert made[0]["output"] == {
        "type": "content",
        "value": [
            {"type": "text", "text": "x"},
            {"type": "image-data", "data": "d", "mediaType": "image/png"},
            {"type": "file-data", "data": "d", "mediaType": "a/b"},
        ],
    }


def test_media_without_a_type_breaks_the_reading(store: Store) -> None:
    output = {"type": "content", "value": [{"type": "media", "data": "d"}]}
    with pytest.raises(HeapTypeError, match="startsWith"):
        prompted(store, assistant(result("a", output=output)))


# ---------------------------------------------------------------- prompts: images and files


@pytest.mark.parametrize(
    ("part", "made"),
    [
        ({"type": "image", "image": PNG}, {"data": PNG, "mediaType": "image/png"}),
        ({"type": "image", "image": PNG, "mediaType": "a/b"}, {"data": PNG, "mediaType": "image/png"}),
        ({"type": "image", "image": "aGk=", "mediaType": "a/b"}, {"data": "aGk=", "mediaType": "a/b"}),
        ({"type": "image", "image": "aGk="}, {"data": "aGk=", "mediaType": "image/*"}),
        ({"type": "image", "image": "https://x/y"}, {"data": "https://x/y", "mediaType": "image/*"}),
        (
            {"type": "image", "image": "data:image/gif;base64,aGk="},
            {"data": "aGk=", "mediaType": "image/gif"},
        ),
        ({"type": "image", "image": [1], "filename": "f"}, {"data": [1], "mediaType": "image/*"}),
        (
            {"type": "file", "data": "aGk=", "mediaType": "a/b", "filename": "f"},
            {"data": "aGk=", "mediaType": "a/b", "filename": "f"},
        ),
        (
            {"type": "file", "data": "https://x/y", "mediaType": "a/b"},
            {"data": "https://x/y", "mediaType": "a/b"},
        ),
    ],
)
def test_an_image_or_a_file_becomes_a_file_of_the_type_that_its_data_tells(
    store: Store, part: Any, made: Any
) -> None:
    assert parts_of(store, {"role": "user", "content": [{**part, "providerOptions": OPTIONS}]}) == [
        {"type": "file", **made, "providerOptions": OPTIONS}
    ]


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ({"type": "surprise"}, "Error"),
        ({"type": "file", "data": "aGk="}, "Error"),
        ({"type": "file", "data": "https://x/y"}, "AI_DownloadError"),
        ({"type": "image", "image": "data:none"}, "InvalidDataContentError"),
        ({"type": "image", "image": "%"}, "InvalidCharacterError"),
    ],
)
def test_data_that_cannot_be_read_is_refused(store: Store, part: Any, name: str) -> None:
    assert refused(store, {"role": "user", "content": [part]}) == name


def test_addresses_are_looked_for_one_list_deeper_before_parts_are_read(store: Store) -> None:
    nested = [[{"type": "file", "data": "https://x/y"}], {"type": "text", "text": "x"}]
    assert refused(store, {"role": "user", "content": nested}) == "AI_DownloadError"


# ---------------------------------------------------------------- where cells come from


def test_a_merged_tool_message_was_made_of_all_its_sources(store: Store) -> None:
    store.watching = True
    history = store.load([assistant(call("a"), call("b")), tool(result("a")), tool(result("b"))])
    made = prompt(store, UNDEFINED, history)
    sources, merged = elements(store, history)[1:], elements(store, made)[1]
    assert isinstance(merged, Ref)
    assert [Ref(source) for source, _ in store.origins[merged.address]] == list(sources)
