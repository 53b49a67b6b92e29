"""What providers are sent, over HTTP on loopback, and what of a request is left out."""

from __future__ import annotations

import base64
from typing import Any, Final

import pytest
from pydantic_ai.models.function import FunctionModel

from agent.models.server import ANTHROPIC, OPENAI, Answer, Text
from agent.models.talk import BOTH, asking, sent
from agentcore.agent.models import ModelRequest, ToolDefinition
from agentcore.agent.models.pydantic_ai import PydanticAIModel
from agentcore.messages.messages import (
    AssistantMessage,
    ContentOutput,
    ErrorJsonOutput,
    ErrorTextOutput,
    ExecutionDeniedOutput,
    FilePart,
    ImagePart,
    JsonOutput,
    Message,
    ReasoningPart,
    SystemMessage,
    TextOutput,
    TextPart,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UserMessage,
)

pytestmark = pytest.mark.anyio

OK: Final = Answer([Text("ok")])
PNG: Final = b"\x89PNG\r\n\x1a\n and more"
PNG64: Final = base64.b64encode(PNG).decode()
PDF64: Final = base64.b64encode(b"%PDF-1.4").decode()
TOOLS: Final = [
    ToolDefinition("a", description="does a", input_schema={"type": "object", "properties": {"x": {}}}),
    ToolDefinition("b", input_schema={"type": "object", "properties": {}}),
]
SCHEMA: Final = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
NEWEST: Final = {OPENAI: "gpt-4o", ANTHROPIC: "claude-sonnet-5-5"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def body_of(protocol: str, request: ModelRequest, **options: Any) -> Any:
    body, warnings = await sent(protocol, request, OK, **options)
    assert warnings == ()
    return body


async def messages_of(protocol: str, *prompt: Message) -> Any:
    return (await body_of(protocol, ModelRequest(prompt=prompt)))["messages"]


async def warnings_of(protocol: str, *prompt: Message, **fields: Any) -> tuple[str, ...]:
    return (await sent(protocol, ModelRequest(prompt=prompt, **fields), OK))[1]


# ---------------------------------------------------------------- instructions and users


async def test_instructions_go_where_the_provider_has_them() -> None:
    prompt = (SystemMessage("be"), SystemMessage("kind"), UserMessage("hi"))
    assert await messages_of(OPENAI, *prompt) == [
        {"role": "system", "content": "be"},
        {"role": "system", "content": "kind"},
        {"role": "user", "content": "hi"},
    ]
    assert (await body_of(ANTHROPIC, ModelRequest(prompt=prompt)))["system"] == "be\n\nkind"


@pytest.mark.parametrize(
    "part",
    [
        FilePart(PNG, "image/png"),
        FilePart(PNG64, "image/png"),
        FilePart(PNG64, "image/*"),
        FilePart(f"data:image/png;base64,{PNG64}", "image/*"),
        ImagePart(PNG),
        ImagePart(PNG64.replace("+", "-").replace("/", "_").rstrip("=")),
        ImagePart(PNG, "image/png"),
    ],
)
async def test_an_image_given_in_any_way_is_sent(part: FilePart | ImagePart) -> None:
    user = UserMessage([TextPart("see"), part])
    assert (await messages_of(OPENAI, user))[0]["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG64}"}},
    ]
    source = (await messages_of(ANTHROPIC, user))[0]["content"][1]["source"]
    assert source == {"type": "base64", "media_type": "image/png", "data": PNG64}


async def test_an_image_by_url_is_sent_as_its_url() -> None:
    options = {"openai": {"imageDetail": "low"}}
    user = UserMessage([FilePart("https://x.org/a.png", "image/*", provider_options=options)])
    assert (await messages_of(OPENAI, user))[0]["content"] == [
        {"type": "image_url", "image_url": {"url": "https://x.org/a.png", "detail": "low"}}
    ]
    source = (await messages_of(ANTHROPIC, user))[0]["content"][0]["source"]
    assert source == {"type": "url", "url": "https://x.org/a.png"}


async def test_an_image_of_unknown_kind_is_said_to_be_a_photograph() -> None:
    sent_image = (await messages_of(OPENAI, UserMessage([FilePart(b"??", "image/*")])))[0]["content"][0]
    assert sent_image["image_url"]["url"].startswith("data:image/jpeg;base64,")


async def test_documents_and_sounds_are_sent() -> None:
    pdf = FilePart(PDF64, "application/pdf", filename="a.pdf")
    content = (await messages_of(OPENAI, UserMessage([pdf, FilePart(b"la", "audio/wav")])))[0]["content"]
    assert content[0]["file"]["file_data"] == f"data:application/pdf;base64,{PDF64}"
    assert content[1]["input_audio"]["format"] == "wav"
    block = (await messages_of(ANTHROPIC, UserMessage([pdf])))[0]["content"][0]
    assert block["source"] == {"type": "base64", "media_type": "application/pdf", "data": PDF64}
    linked = UserMessage([FilePart("https://x.org/a.pdf", "application/pdf")])
    assert (await messages_of(ANTHROPIC, linked))[0]["content"][0]["source"]["url"] == "https://x.org/a.pdf"


async def test_cache_points_stand_where_they_were_set() -> None:
    cached = {"anthropic": {"cacheControl": {"type": "ephemeral", "ttl": "1h"}}}
    brief = {"anthropic": {"cacheControl": {"type": "ephemeral"}}}
    first = UserMessage([TextPart("a", cached), TextPart("b")])
    content = await messages_of(ANTHROPIC, first, AssistantMessage("x"), UserMessage([TextPart("c")], brief))
    assert content[0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_control" not in content[0]["content"][1]
    assert content[2]["content"][0]["cache_control"]["ttl"] == "5m"


# ---------------------------------------------------------------- answers and results

OUTPUTS: Final[list[tuple[ToolOutput, str, str, bool]]] = [
    (TextOutput("plain"), "plain", "plain", False),
    (JsonOutput("text"), '"text"', '"text"', False),
    (JsonOutput({"ü": [1, None]}), '{"ü":[1,null]}', '{"ü":[1,null]}', False),
    (JsonOutput(None), "null", "null", False),
    (ErrorTextOutput("bad"), '{"error":"bad"}', "bad", True),
    (ErrorJsonOutput({"a": 1}), '{"error":"{\\"a\\":1}"}', '{"a":1}', True),
    (ContentOutput([{"type": "text", "text": "one"}]), '["one"]', "one", False),
]


@pytest.mark.parametrize(("output", "openai", "anthropic", "failed"), OUTPUTS)
async def test_outputs_of_tools_are_sent(
    output: ToolOutput, openai: str, anthropic: str, failed: bool
) -> None:
    prompt = exchange(output)
    assert (await messages_of(OPENAI, *prompt))[2] == {
        "role": "tool",
        "tool_call_id": "c",
        "content": openai,
    }
    result = (await messages_of(ANTHROPIC, *prompt))[2]["content"][0]
    assert result["content"] == [{"type": "text", "text": anthropic}]
    assert result["is_error"] is failed


@pytest.mark.parametrize(
    ("denied", "text"),
    [(ExecutionDeniedOutput("no!"), "no!"), (ExecutionDeniedOutput(), "Tool execution denied.")],
)
async def test_a_denied_call_says_so(denied: ToolOutput, text: str) -> None:
    assert text in (await messages_of(OPENAI, *exchange(denied)))[2]["content"]
    result = (await messages_of(ANTHROPIC, *exchange(denied)))[2]["content"][0]
    assert result["content"] == [{"type": "text", "text": text}]


async def test_images_and_files_of_a_tool_are_sent() -> None:
    items = [
        {"type": "text", "text": "see"},
        {"type": "image-data", "data": PNG64, "mediaType": "image/png"},
        {"type": "image-url", "url": "https://x.org/a.png"},
        {"type": "file-data", "data": PDF64, "mediaType": "application/pdf", "filename": "a.pdf"},
        {"type": "file-url", "url": "https://x.org/b.pdf", "mediaType": "application/pdf"},
    ]
    content = (await messages_of(ANTHROPIC, *exchange(ContentOutput(items))))[2]["content"][0]["content"]
    assert [block["type"] for block in content] == ["text", "image", "image", "document", "document"]
    assert content[1]["source"]["data"] == PNG64
    assert content[4]["source"]["url"] == "https://x.org/b.pdf"
    # This protocol takes text in results only: images follow as the user's.
    messages = await messages_of(OPENAI, *exchange(ContentOutput(items[:2])))
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "user"]
    assert any(part["type"] == "image_url" for part in messages[3]["content"])


def exchange(output: ToolOutput, **call: Any) -> tuple[Message, ...]:
    return (
        UserMessage("hi"),
        AssistantMessage([ToolCallPart("c", "t", **{"input": {"a": 1}, **call})]),
        ToolMessage([ToolResultPart("c", "t", output=output)]),
    )


async def test_the_input_of_an_invalid_call_goes_back_marked() -> None:
    prompt = exchange(ErrorTextOutput("invalid"), input='{"a')
    call = (await messages_of(OPENAI, *prompt))[1]["tool_calls"][0]
    assert call["function"]["arguments"] == '{"INVALID_JSON":"{\\"a"}'
    block = (await messages_of(ANTHROPIC, *prompt))[1]["content"][0]
    assert block["input"] == {"INVALID_JSON": '{"a'}


@pytest.mark.parametrize(
    "options",
    [
        {"anthropic": {"signature": "s"}},
        {"other": {"x": 1}, "anthropic": {"signature": "s"}},
    ],
)
async def test_a_signed_thought_goes_back_signed(options: dict[str, Any]) -> None:
    prompt = (
        UserMessage("hi"),
        AssistantMessage([ReasoningPart("hm", options), TextPart("x")]),
        UserMessage("y"),
    )
    content = (await messages_of(ANTHROPIC, *prompt))[1]["content"]
    assert content[0] == {"type": "thinking", "thinking": "hm", "signature": "s"}


@pytest.mark.parametrize(
    "options",
    [{"redactedData": "r"}, {"id": "redacted_thinking", "signature": "r"}],
)
async def test_a_redacted_thought_goes_back_redacted(options: dict[str, Any]) -> None:
    thought = ReasoningPart("", {"anthropic": options})
    prompt = (UserMessage("hi"), AssistantMessage([thought, TextPart("x")]), UserMessage("y"))
    content = (await messages_of(ANTHROPIC, *prompt))[1]["content"]
    assert content[0] == {"type": "redacted_thinking", "data": "r"}


async def test_a_thought_of_somebody_else_goes_back_as_text() -> None:
    thought = ReasoningPart("hm", {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "e"}})
    prompt = (UserMessage("hi"), AssistantMessage([thought, TextPart("x")]), UserMessage("y"))
    assert "e" not in [
        block.get("signature") for block in (await messages_of(ANTHROPIC, *prompt))[1]["content"]
    ]


async def test_a_plain_answer_goes_back() -> None:
    prompt = (UserMessage("hi"), AssistantMessage("hello"), UserMessage("y"))
    assert (await messages_of(OPENAI, *prompt))[1] == {"role": "assistant", "content": "hello"}
    twice = (AssistantMessage("a"), AssistantMessage("b"), UserMessage("y"))
    roles = [message["role"] for message in await messages_of(OPENAI, *twice)]
    assert roles == ["assistant", "assistant", "user"]
    begun = await messages_of(OPENAI, UserMessage("y"), AssistantMessage("to be continued"))
    assert [message["role"] for message in begun] == ["user", "assistant"]


async def test_what_has_no_place_is_left_out_and_named() -> None:
    odd = AssistantMessage(
        [
            TextPart("x"),
            FilePart("https://x.org/a.png", "image/png"),
            ToolApprovalRequestPart("a", "c"),
        ]
    )
    asked = ToolMessage([ToolApprovalResponsePart("a", approved=True, provider_executed=True)])
    marked = SystemMessage("s", {"openai": {"a": 1}})
    strange = ContentOutput([{"type": "custom"}, "text"])
    warnings = await warnings_of(OPENAI, marked, UserMessage("hi"), odd, asked, *exchange(strange)[1:])
    assert [text.partition(" was left out")[0] for text in warnings] == [
        "provider options of a system message",
        "a file that the model made, given by URL",
        "a request for approval",
        "an approval of a call that the provider runs",
        "a custom item of a tool's output",
        "a None item of a tool's output",
    ]


async def test_files_that_a_model_made_and_calls_that_it_ran_itself_are_told_to_the_library() -> None:
    ran = AssistantMessage(
        [
            FilePart(PNG64, "image/png"),
            ToolCallPart("s", "web_search", input={"query": "q"}, provider_executed=True),
            ToolResultPart(
                "s",
                "web_search",
                output=JsonOutput([]),
                provider_options={"anthropic": {"details": {"a": 1}}},
            ),
            TextPart("x"),
        ]
    )
    assert await warnings_of(ANTHROPIC, UserMessage("hi"), ran, UserMessage("y")) == ()


# ---------------------------------------------------------------- settings


async def test_settings_have_the_providers_names() -> None:
    settings = {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_output_tokens": 7,
        "stop_sequences": ["x"],
        "seed": 1,
        "headers": {"x-mine": "1"},
        "max_retries": 5,
    }
    body = await body_of(OPENAI, asking(settings=settings))
    told = {name: body[name] for name in ("temperature", "top_p", "max_completion_tokens", "stop", "seed")}
    assert told == {"temperature": 0.5, "top_p": 0.9, "max_completion_tokens": 7, "stop": ["x"], "seed": 1}


async def test_settings_that_the_model_does_not_have_are_left_out_and_named() -> None:
    body, warnings = await sent(ANTHROPIC, asking(settings={"seed": 1, "sparkle": 2, "top_k": 3}), OK)
    assert "seed" not in body
    assert body["top_k"] == 3
    assert warnings == (
        "setting seed was left out: anthropic claude-test has no such setting",
        "setting sparkle was left out: anthropic claude-test has no such setting",
    )


async def test_options_of_the_provider_are_its_settings() -> None:
    options = {
        "openai": {"user": "u", "serviceTier": "flex", "parallelToolCalls": False},
        "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 1024}, "metadata": {"user_id": "u"}},
        "pydantic_ai": {"extra_body": {"more": 1}},
    }
    body = await body_of(OPENAI, asking(provider_options=options, tools=TOOLS))
    assert (body["user"], body["service_tier"], body["parallel_tool_calls"]) == ("u", "flex", False)
    assert body["more"] == 1
    body = await body_of(ANTHROPIC, asking(provider_options=options, settings={"max_output_tokens": 2000}))
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 1024}
    assert body["metadata"] == {"user_id": "u"}


async def test_tools_are_described() -> None:
    body = await body_of(OPENAI, asking(tools=TOOLS))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["a", "b"]
    assert body["tools"][0]["function"]["description"] == "does a"
    assert body["tools"][0]["function"]["parameters"]["properties"] == {"x": {}}
    body = await body_of(ANTHROPIC, asking(tools=TOOLS))
    assert [(tool["name"], tool["input_schema"]["type"]) for tool in body["tools"]] == [
        ("a", "object"),
        ("b", "object"),
    ]


async def test_a_tool_may_be_strict() -> None:
    strict = ToolDefinition("s", input_schema=SCHEMA, provider_options={"openai": {"strict": True}})
    assert (await body_of(OPENAI, asking(tools=[strict])))["tools"][0]["function"]["strict"] is True


CHOICES: Final[list[tuple[dict[str, str], Any, Any]]] = [
    ({"type": "auto"}, "auto", {"type": "auto"}),
    ({"type": "none"}, "none", {"type": "none"}),
    ({"type": "required"}, "required", {"type": "any"}),
    (
        {"type": "tool", "toolName": "a"},
        {"type": "function", "function": {"name": "a"}},
        {"type": "tool", "name": "a"},
    ),
]


@pytest.mark.parametrize(("choice", "openai", "anthropic"), CHOICES)
async def test_a_choice_of_tool_is_told(choice: dict[str, str], openai: Any, anthropic: Any) -> None:
    request = asking(tools=TOOLS, tool_choice=choice)
    assert (await body_of(OPENAI, request))["tool_choice"] == openai
    assert (await body_of(ANTHROPIC, request))["tool_choice"] == anthropic


@pytest.mark.parametrize("protocol", BOTH)
async def test_a_choice_without_tools_is_not_told(protocol: str) -> None:
    assert "tool_choice" not in await body_of(protocol, asking(tool_choice={"type": "required"}))


# ---------------------------------------------------------------- structured output


async def test_a_schema_is_told_to_a_provider_that_takes_one() -> None:
    wanted = {"type": "json", "schema": SCHEMA, "name": "place", "description": "a city", "strict": True}
    told = (await body_of(OPENAI, asking(response_format=wanted)))["response_format"]
    assert told == {
        "type": "json_schema",
        "json_schema": {"name": "place", "description": "a city", "schema": SCHEMA, "strict": True},
    }
    body = await body_of(ANTHROPIC, asking(response_format=wanted), name=NEWEST[ANTHROPIC])
    assert body["output_config"]["format"]["schema"]["properties"] == SCHEMA["properties"]


async def test_json_without_a_schema_is_asked_for() -> None:
    body = await body_of(OPENAI, asking(response_format={"type": "json"}))
    assert body["response_format"] == {"type": "json_object"}


async def test_a_schema_is_asked_for_in_the_prompt_where_nothing_else_is_left() -> None:
    seen: list[Any] = []

    async def answer(_messages: Any, info: Any) -> Any:
        seen.append(info)
        raise RuntimeError("enough")

    model = PydanticAIModel(FunctionModel(answer, profile={"supports_json_schema_output": False}))
    with pytest.raises(Exception, match="enough"):
        await model.generate(asking(response_format={"type": "json", "schema": SCHEMA}))
    assert seen[0].model_request_parameters.output_mode == "prompted"
    assert "city" in seen[0].instructions
