"""Hypothesis strategies for JSON values, parts and messages; simpler draws are smaller values."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

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

# Any code point, lone surrogates included: JavaScript has them in strings.
texts: Final = st.text(st.characters(), max_size=8)
names: Final = st.sampled_from(["a", "b", "read_file", "", "__proto__", "\ud800", "ä b"])
numbers: Final[st.SearchStrategy[int | float]] = (
    st.integers(-3, 3)
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1.0, -0.0, 1e300, 2**53 + 1, 0.1])
)
json_atoms: Final[st.SearchStrategy[Any]] = st.none() | st.booleans() | numbers | texts
json_values: Final[st.SearchStrategy[Any]] = st.recursive(
    json_atoms,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | texts, inner, max_size=3),
    max_leaves=8,
)
json_objects: Final = st.dictionaries(names, json_values, max_size=3)
provider_options: Final = st.none() | st.dictionaries(names, json_objects, max_size=2)
flags: Final = st.none() | st.booleans()
optional_texts: Final = st.none() | texts
data: Final = texts | st.binary(max_size=6)

text_parts: Final = st.builds(TextPart, texts, provider_options)
reasoning_parts: Final = st.builds(ReasoningPart, texts, provider_options)


def image_parts(content: st.SearchStrategy[str | bytes] = data) -> st.SearchStrategy[ImagePart]:
    return st.builds(ImagePart, content, optional_texts, provider_options=provider_options)


def file_parts(content: st.SearchStrategy[str | bytes] = data) -> st.SearchStrategy[FilePart]:
    return st.builds(FilePart, content, texts, filename=optional_texts, provider_options=provider_options)


tool_calls: Final = st.builds(
    ToolCallPart,
    names,
    names,
    input=json_values,
    provider_executed=flags,
    provider_options=provider_options,
)
content_items: Final = st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": texts})
    | st.fixed_dictionaries({"type": st.just("media"), "data": texts, "mediaType": texts}),
    max_size=2,
)
outputs: Final[st.SearchStrategy[ToolOutput]] = (
    st.builds(TextOutput, texts, provider_options)
    | st.builds(JsonOutput, json_values, provider_options)
    | st.builds(ContentOutput, content_items, provider_options)
    | st.builds(ErrorTextOutput, texts, provider_options)
    | st.builds(ErrorJsonOutput, json_values, provider_options)
    | st.builds(ExecutionDeniedOutput, optional_texts, provider_options)
)
tool_results: Final = st.builds(
    ToolResultPart, names, names, output=outputs, provider_options=provider_options
)
approval_requests: Final = st.builds(ToolApprovalRequestPart, names, names)
approval_responses: Final = st.builds(
    ToolApprovalResponsePart,
    names,
    st.booleans(),
    reason=optional_texts,
    provider_executed=flags,
)


def messages_with(content: st.SearchStrategy[str | bytes]) -> st.SearchStrategy[Message]:
    """All messages, with such content of images and files."""
    of_user = text_parts | image_parts(content) | file_parts(content)
    of_assistant = (
        text_parts | file_parts(content) | reasoning_parts | tool_calls | tool_results | approval_requests
    )
    of_tool = tool_results | approval_responses
    return (
        st.builds(SystemMessage, texts, provider_options)
        | st.builds(UserMessage, texts | st.lists(of_user, max_size=3), provider_options)
        | st.builds(AssistantMessage, texts | st.lists(of_assistant, max_size=3), provider_options)
        | st.builds(ToolMessage, st.lists(of_tool, max_size=3), provider_options)
    )


messages: Final = messages_with(data)
messages_without_bytes: Final = messages_with(texts)
