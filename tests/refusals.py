"""Messages that providers refuse, by the rule that they break, and messages that they take; for tests."""

from __future__ import annotations

from typing import Final, NamedTuple

from agentcore.messages.messages import (
    AssistantMessage,
    FilePart,
    Message,
    ReasoningPart,
    SystemMessage,
    TextOutput,
    TextPart,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from agentcore.requirements.rules import Rule

USER: Final = UserMessage("u")
SYSTEM: Final = SystemMessage("s")
ANSWER: Final = AssistantMessage("a")


def call(call_id: str = "c", n: int = 0, *, by_provider: bool | None = None) -> ToolCallPart:
    return ToolCallPart(call_id, "t", input={"n": n}, provider_executed=by_provider)


def result(call_id: str = "c", value: str = "r") -> ToolResultPart:
    return ToolResultPart(call_id, "t", output=TextOutput(value))


def calls(*call_ids: str) -> AssistantMessage:
    return AssistantMessage([call(call_id, number) for number, call_id in enumerate(call_ids)])


def results(*call_ids: str) -> ToolMessage:
    return ToolMessage([result(call_id) for call_id in call_ids])


def asks(call_id: str = "c", approval_id: str = "y") -> AssistantMessage:
    return AssistantMessage([call(call_id), ToolApprovalRequestPart(approval_id, call_id)])


def answers(approval_id: str = "y", *, approved: bool = True, by_provider: bool | None = None) -> ToolMessage:
    return ToolMessage(
        [ToolApprovalResponsePart(approval_id, approved=approved, provider_executed=by_provider)]
    )


class Refused(NamedTuple):
    """Messages that providers refuse: the rule that they break, the place, and the call."""

    messages: list[Message]
    rule: Rule
    path: str
    call_id: str | None = "c"


HAS_CALL: Final = Rule.PROMPT_RESULT_HAS_CALL
ONE: Final = Rule.PROMPT_ONE_RESULT
DIFFER: Final = Rule.PROMPT_CALL_IDS_DIFFER
FOLLOW: Final = Rule.PROMPT_RESULTS_FOLLOW
SAYS: Final = Rule.PROMPT_CONTENT_NOT_EMPTY
SOME: Final = Rule.PROMPT_NOT_EMPTY
MISSING: Final = Rule.PROMPT_MISSING_RESULTS

REFUSED: Final[dict[str, Refused]] = {
    # ------------------------------------------------------------ a result without its call
    "a result of no call": Refused([USER, results("c")], HAS_CALL, "$.messages[1].content[0]"),
    "a result first of all": Refused([results("c"), USER], HAS_CALL, "$.messages[0].content[0]"),
    "a result of another call": Refused(
        [USER, calls("d"), results("d", "c")], HAS_CALL, "$.messages[2].content[1]"
    ),
    "a result before its call": Refused(
        [USER, results("c"), calls("c"), results("c")], HAS_CALL, "$.messages[1].content[0]"
    ),
    "a result after the user": Refused(
        [USER, calls("c"), results("c"), USER, results("c")], HAS_CALL, "$.messages[4].content[0]"
    ),
    "a result after the next answer": Refused(
        [USER, calls("c"), results("c"), ANSWER, results("c")], HAS_CALL, "$.messages[4].content[0]"
    ),
    "a result beside an answer to a request": Refused(
        [USER, asks("c"), ToolMessage([*answers().content, result("c"), result("d")])],
        HAS_CALL,
        "$.messages[2].content[2]",
        "d",
    ),
    # ------------------------------------------------------------ two results
    "two results in one message": Refused(
        [USER, calls("c"), results("c", "c")], ONE, "$.messages[2].content[1]"
    ),
    "two results in two messages": Refused(
        [USER, calls("c"), results("c"), results("c")], ONE, "$.messages[3].content[0]"
    ),
    "a second result after another": Refused(
        [USER, calls("c", "d"), results("c", "d"), results("c")], ONE, "$.messages[3].content[0]"
    ),
    "two results of a provider's call": Refused(
        [USER, AssistantMessage([call(by_provider=True)]), results("c", "c")], ONE, "$.messages[2].content[1]"
    ),
    # ------------------------------------------------------------ two calls of one id
    "two calls with one result": Refused(
        [USER, calls("c", "c"), results("c")], DIFFER, "$.messages[1].content[1]"
    ),
    "two calls with two results": Refused(
        [USER, calls("c", "c"), results("c", "c")], DIFFER, "$.messages[1].content[1]"
    ),
    "the same call twice": Refused(
        [USER, AssistantMessage([call(), call()]), results("c")], DIFFER, "$.messages[1].content[1]"
    ),
    "a client's call and a provider's": Refused(
        [USER, AssistantMessage([call(), TextPart("x"), call(by_provider=True)]), results("c")],
        DIFFER,
        "$.messages[1].content[2]",
    ),
    "two provider's calls": Refused(
        [USER, AssistantMessage([call(by_provider=True), call(n=1, by_provider=True)])],
        DIFFER,
        "$.messages[1].content[1]",
    ),
    "calls of two answers in a row": Refused(
        [USER, calls("c"), calls("c"), results("c", "c")], DIFFER, "$.messages[2].content[0]"
    ),
    # ------------------------------------------------------------ a result that comes too late
    "a result after a text": Refused(
        [USER, calls("c"), ANSWER, results("c")], FOLLOW, "$.messages[3].content[0]"
    ),
    "a result after another call": Refused(
        [USER, calls("c"), calls("d"), results("d", "c")], FOLLOW, "$.messages[3].content[1]"
    ),
    "a result after another round": Refused(
        [USER, calls("c", "d"), results("d"), calls("e"), results("e", "c")],
        FOLLOW,
        "$.messages[4].content[1]",
    ),
    # ------------------------------------------------------------ a call without its result
    "a call at the end": Refused([USER, calls("c")], MISSING, "$.messages[1].content[0]"),
    "a call before the user": Refused([calls("c"), USER], MISSING, "$.messages[0].content[0]"),
    "one of two calls": Refused([USER, calls("d", "c"), results("d")], MISSING, "$.messages[1].content[1]"),
    "a result after the user of the call": Refused(
        [USER, calls("c"), USER, results("c")], MISSING, "$.messages[1].content[0]"
    ),
    "a request without an answer": Refused([USER, asks("c")], MISSING, "$.messages[1].content[0]"),
    "an approved call without its result": Refused(
        [USER, asks("c"), answers(), USER], MISSING, "$.messages[1].content[0]"
    ),
    "a denied call without its result": Refused(
        [USER, asks("c"), answers(approved=False), USER], MISSING, "$.messages[1].content[0]"
    ),
    "an id that an answered call without result had": Refused(
        [USER, asks("c"), answers(approved=False), USER, calls("c"), results("c")],
        MISSING,
        "$.messages[1].content[0]",
    ),
    # ------------------------------------------------------------ content
    "an empty user text": Refused([USER, UserMessage("")], SAYS, "$.messages[1].content", None),
    "a user message of no parts": Refused([UserMessage([]), USER], SAYS, "$.messages[0].content", None),
    "a user message of empty texts": Refused(
        [UserMessage([TextPart(""), TextPart("", {"p": {}})])], SAYS, "$.messages[0].content", None
    ),
    "an empty answer": Refused([USER, AssistantMessage("")], SAYS, "$.messages[1].content", None),
    "an answer of no parts": Refused([USER, AssistantMessage([]), USER], SAYS, "$.messages[1].content", None),
    "an answer of empty texts": Refused(
        [USER, AssistantMessage([TextPart("")])], SAYS, "$.messages[1].content", None
    ),
    "a request for approval alone": Refused(
        [USER, AssistantMessage([ToolApprovalRequestPart("y", "c")])], SAYS, "$.messages[1].content", None
    ),
    # ------------------------------------------------------------ no message
    "instructions alone": Refused([SYSTEM], SOME, "$.messages", None),
    "a tool message that is dropped": Refused([ToolMessage([])], SOME, "$.messages", None),
    "several that are no messages": Refused([SYSTEM, ToolMessage([]), SYSTEM], SOME, "$.messages", None),
}

TAKEN: Final[dict[str, list[Message]]] = {
    "a text": [USER],
    "an answer first": [ANSWER, USER],
    "a round": [USER, calls("c", "d"), results("d", "c")],
    "a round in several messages": [USER, calls("c", "d"), results("d"), ToolMessage([]), results("c"), USER],
    "calls without a text": [USER, calls("c"), results("c"), ANSWER],
    "an id that a later round uses again": [USER, calls("c"), results("c"), calls("c"), results("c"), USER],
    "an id that the next turn uses again": [USER, calls("c"), results("c"), USER, calls("c"), results("c")],
    "a provider's call and result": [
        USER,
        AssistantMessage([call(by_provider=True), result(), TextPart("a")]),
        USER,
    ],
    "a provider's result in a later answer": [
        USER,
        AssistantMessage([call(by_provider=True)]),
        AssistantMessage([result()]),
    ],
    "a provider's result alone": [USER, AssistantMessage([result()])],
    "the result of a denied call of the provider": [
        USER,
        AssistantMessage([call(by_provider=True), ToolApprovalRequestPart("y", "c")]),
        ToolMessage([*answers(approved=False, by_provider=True).content, result()]),
    ],
    "an approved call with its result": [USER, asks("c"), answers(), results("c")],
    "an approved call whose answer comes late": [USER, asks("c"), USER, answers(), results("c")],
    "an approved call whose answer comes after a text": [USER, asks("c"), ANSWER, answers(), results("c")],
    "an image without text": [UserMessage([FilePart("AAAA", "image/png")])],
    "an empty text beside an image": [UserMessage([TextPart(""), FilePart("AAAA", "image/png")])],
    "an empty text with options": [USER, AssistantMessage([TextPart("", {"p": {}})])],
    "reasoning alone": [USER, AssistantMessage([ReasoningPart("")])],
    "an empty output": [USER, calls("c"), ToolMessage([result("c", "")])],
    "empty instructions": [SystemMessage(""), USER],
    "spaces": [UserMessage(" ")],
}
