"""Converters of fields: what people give for a field, as a value; one for each kind of field.

Values convert where they come in: in the constructors of what people, drivers and models make. What the
machine makes itself has no converters, because its parts are values already.

Each is a named function, because mypy takes the constructor's types from it. Data of images and files comes
in as bytes, base64 or URLs: what these hold is made out here as well.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias, cast

import ada_url

from agentcore.errors import InvalidDataContentError, InvalidJsonError
from agentcore.messages.values import JsonObject, JsonValue, freeze, frozen_list, frozen_list_or_none

__all__ = [
    "answer_schema",
    "context",
    "error",
    "input_json",
    "input_schema",
    "json_object",
    "metadata",
    "metadata_json",
    "model_settings",
    "model_state",
    "names",
    "options",
    "output",
    "part_metadata",
    "part_options",
    "reason",
    "response_format",
    "source_fields",
    "texts",
    "value_json",
]

_Object: TypeAlias = Mapping[str, object]


def json_object(value: object, path: str) -> JsonObject:
    """Freeze a JSON object. Raises InvalidJsonError, with the path, for anything else."""
    if not isinstance(value, Mapping):
        raise InvalidJsonError(path, f"expected an object, got {type(value).__name__}")
    return cast("JsonObject", freeze(value, path))


def _optional(value: object, path: str) -> JsonObject | None:
    return None if value is None else json_object(value, path)


# ---------------------------------------------------------------- objects


def options(value: _Object | None) -> JsonObject | None:
    """Freeze provider options."""
    return _optional(value, "$.provider_options")


def metadata(value: _Object | None) -> JsonObject | None:
    """Freeze a provider's metadata of an answer."""
    return _optional(value, "$.provider_metadata")


def model_state(value: _Object | None) -> JsonObject | None:
    """Freeze what a model is to be given with its next request."""
    return _optional(value, "$.model_state")


def response_format(value: _Object | None) -> JsonObject | None:
    """Freeze the format that an answer is asked for in."""
    return _optional(value, "$.response_format")


def model_settings(value: _Object | None) -> JsonObject:
    """Freeze a model's settings; None means `{}`."""
    return json_object({} if value is None else value, "$.settings")


def input_schema(value: _Object) -> JsonObject:
    """Freeze the JSON Schema of a tool's input."""
    return json_object(value, "$.input_schema")


def answer_schema(value: _Object) -> JsonObject:
    """Freeze the JSON Schema of an answer."""
    return json_object(value, "$.schema")


# What is no object in a part or a message stays as it is, for the checks of parts and messages to refuse.


def part_metadata(value: object) -> JsonObject | None:
    """Freeze a provider's metadata of a part."""
    return cast("JsonObject | None", freeze(value, "$.provider_metadata"))


def part_options(value: _Object | None) -> JsonObject | None:
    """Freeze the provider options of a part or a message."""
    return cast("JsonObject | None", freeze(value, "$.provider_options"))


def source_fields(value: object) -> JsonObject:
    """Freeze the fields of a source."""
    return cast("JsonObject", freeze(value, "$.fields"))


# ---------------------------------------------------------------- any JSON


def context(value: object) -> JsonValue:
    """Freeze an `experimental_context`."""
    return freeze(value, "$.experimental_context")


def input_json(value: object) -> JsonValue:
    """Freeze the input of a call."""
    return freeze(value, "$.input")


def output(value: object) -> JsonValue:
    """Freeze what a tool returned."""
    return freeze(value, "$.output")


def error(value: object) -> JsonValue:
    """Freeze the error of a tool."""
    return freeze(value, "$.error")


def reason(value: object) -> JsonValue:
    """Freeze what a question is about."""
    return freeze(value, "$.reason")


def metadata_json(value: object) -> JsonValue:
    """Freeze what a processor says of the end of a run."""
    return freeze(value, "$.metadata")


def value_json(value: object) -> JsonValue:
    """Freeze the value of an output or an event."""
    return freeze(value, "$.value")


# ---------------------------------------------------------------- lists


def names(value: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return names as a list that cannot change; None stands for no list."""
    return frozen_list_or_none(value)


def texts(value: Iterable[str]) -> tuple[str, ...]:
    """Return texts as a list that cannot change."""
    return frozen_list(value)


# ---------------------------------------------------------------- data of images and files

# What the first bytes of an image say, and how a data: URL is taken apart. Works as ai@6.0.134 does, since
# media types are visible in prompts.
_ANY = None

Signatures: TypeAlias = tuple[tuple[str, tuple[int | None, ...]], ...]

IMAGE_SIGNATURES: Signatures = (
    ("image/gif", (0x47, 0x49, 0x46)),
    ("image/png", (0x89, 0x50, 0x4E, 0x47)),
    ("image/jpeg", (0xFF, 0xD8)),
    ("image/webp", (*b"RIFF", _ANY, _ANY, _ANY, _ANY, *b"WEBP")),
    ("image/bmp", (0x42, 0x4D)),
    ("image/tiff", (0x49, 0x49, 0x2A, 0x00)),
    ("image/tiff", (0x4D, 0x4D, 0x00, 0x2A)),
    ("image/avif", (0x00, 0x00, 0x00, 0x20, *b"ftypavif")),
    ("image/heic", (0x00, 0x00, 0x00, 0x20, *b"ftypheic")),
)
"""Media type and first bytes, in the order they are tried; None stands for any byte."""

_BASE64_HEAD = 24
_ID3_IN_BASE64 = "SUQz"
_ID3 = b"ID3"
_ID3_HEADER = 10


def detect_image_media_type(data: str | bytes, signatures: Signatures = IMAGE_SIGNATURES) -> str | None:
    """The media type that the first bytes of an image (raw or base64 text) stand for, or None.

    Raises InvalidDataContentError for text that is not base64.
    """
    head = _head(data)
    for media_type, signature in signatures:
        if _begins_with(head, signature):
            return media_type
    return None


def parse_url(data: str | bytes) -> ada_url.URL | None:
    """Parse text as a WHATWG URL (with Ada, as Node.js does); return None for what is no URL.

    Lone surrogates become U+FFFD. Base64 never is a URL, having no colon.
    """
    if not isinstance(data, str) or ":" not in data:
        return None
    try:
        return ada_url.URL(_well_formed(data))
    except ValueError:
        return None


class Data(NamedTuple):
    """Data of an image or a file, with the media type that a data: URL names; `url` is any other, parsed."""

    content: str | bytes
    media_type: str | None = None
    url: ada_url.URL | None = None


def read_data(data: str | bytes) -> Data:
    """Return the kind of an image's or file's data and its content; a data: URL is taken apart.

    Raises InvalidDataContentError for a data: URL without a comma.
    """
    url = parse_url(data)
    if url is None or url.protocol != "data:":
        return Data(data, url=url)
    header, comma, rest = url.href.partition(",")
    if not comma:
        raise InvalidDataContentError("$", "a data: URL has a comma between its media type and its data")
    return Data(rest.partition(",")[0], header[5:].partition(";")[0].partition(":")[0])


def _well_formed(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _begins_with(head: bytes, signature: tuple[int | None, ...]) -> bool:
    return len(head) >= len(signature) and all(
        want is _ANY or want == have for want, have in zip(signature, head, strict=False)
    )


def _head(data: str | bytes) -> bytes:
    # A picture may stand behind an ID3 tag; the package looks behind one for every kind of media.
    if isinstance(data, str):
        return (
            _without_id3(_decoded(data)) if data.startswith(_ID3_IN_BASE64) else _decoded(data[:_BASE64_HEAD])
        )
    return _without_id3(data) if len(data) > _ID3_HEADER and data.startswith(_ID3) else data


def _without_id3(data: bytes) -> bytes:
    size = 0
    for byte in data[6:10].ljust(4, b"\0"):
        size = size << 7 | byte & 0x7F
    return data[size + _ID3_HEADER :]


def _decoded(text: str) -> bytes:
    """Base64 in either alphabet, padding optional, white space ignored: as browsers decode it."""
    compact = re.sub(r"[\t\n\f\r ]", "", text).replace("-", "+").replace("_", "/")
    if len(compact) % 4 == 0:
        compact = re.sub(r"={1,2}$", "", compact)
    if len(compact) % 4 == 1 or not re.fullmatch(r"[A-Za-z0-9+/]*", compact):
        raise InvalidDataContentError("$", "the data of an image is bytes, base64 text or a URL")
    # Bits beyond the last whole byte are dropped by browsers, whatever they are; Python agrees unless strict.
    return base64.b64decode(compact + "=" * (-len(compact) % 4))
