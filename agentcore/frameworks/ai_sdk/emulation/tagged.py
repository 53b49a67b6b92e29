"""Parts of a prompt as the newer interface of language models has them: files say what their data is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from agentcore.errors import InvalidDataContentError
from agentcore.frameworks.ai_sdk.emulation.prompts import Address, PromptRules
from agentcore.heap.heap import UNDEFINED, HeapTypeError, Ref, Slot, Store, Value
from agentcore.heap.js import (
    PackageError,
    elements,
    get,
    is_array,
    is_nullish,
    iterated,
    or_else,
    text,
    url_object,
    url_text,
)
from agentcore.messages.converters import detect_image_media_type, parse_url, read_data

_MEDIA: Final = frozenset({"type", "image", "data", "mediaType", "filename", "providerOptions"})
_TEXT: Final = frozenset({"type", "text", "providerOptions"})

SIGNATURES: Final[tuple[tuple[str, tuple[int | None, ...]], ...]] = (
    ("image/gif", tuple(b"GIF87a")),
    ("image/gif", tuple(b"GIF89a")),
    ("image/png", (0x89, 0x50, 0x4E, 0x47)),
    ("image/jpeg", (0xFF, 0xD8)),
    ("image/webp", (*b"RIFF", None, None, None, None, *b"WEBP")),
    ("image/bmp", (*b"BM", None, None, None, None, 0, 0, 0, 0)),
    ("image/tiff", (0x49, 0x49, 0x2A, 0x00)),
    ("image/tiff", (0x4D, 0x4D, 0x00, 0x2A)),
    ("image/avif", (0, 0, 0, None, *b"ftypavif")),
    ("image/heic", (0, 0, 0, None, *b"ftypheic")),
)
"""Media type and first bytes of images, in the order they are tried; None stands for any byte."""

_EXTENSIONS: Final = {
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
    "avif": "image/avif",
    "heic": "image/heic",
    "bmp": "image/bmp",
    "tiff": "image/tiff",
    "tif": "image/tiff",
    "pdf": "application/pdf",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
}


# ---------------------------------------------------------------- data


def tagged_data(store: Store, content: Value) -> tuple[Ref, Value]:
    """Data with what kind it is, and the media type that it names itself (undefined if it names none).

    Raises:
        PackageError: for a `data:` address that stands as data.
    """
    if isinstance(content, str):
        return _of_text(store, content)
    if url_text(store, content) is not None:
        return _of_url(store, content, UNDEFINED)
    kind = get(store, content, "type") if type(content) is Ref else UNDEFINED
    if kind == "data":
        data = get(store, content, "data")
        if isinstance(data, str) and data.startswith("data:"):
            raise PackageError("AI_InvalidDataContentError", "Data URLs are not valid inline data.")
        return _inline(store, data), UNDEFINED
    if kind == "url":
        made, named = _of_url(store, get(store, content, "url"), get(store, content, "originalUrl"))
        return store.derive(made, content), named
    if kind in ("reference", "text"):
        name = str(kind)
        held = {"type": name, name: get(store, content, name)}
        return store.derive(store.object(held), content), UNDEFINED
    if type(content) is Ref and kind is UNDEFINED:
        return store.object({"type": "reference", "reference": content}), UNDEFINED
    return _inline(store, content), UNDEFINED


def _of_url(store: Store, url: Value, original: Value) -> tuple[Ref, Value]:
    # The mark of a data: address is a field of the address object; a text has none.
    if get(store, url, "protocol") == "data:":
        try:
            content, media_type, _ = read_data(url_text(store, url) or "")
        except InvalidDataContentError as error:
            raise PackageError(error.wire_name, str(error)) from error
        return _inline(store, str(content)), UNDEFINED if media_type is None else media_type
    held = {"type": "url", "url": url, "originalUrl": UNDEFINED if is_nullish(original) else original}
    return store.object(held), UNDEFINED


def _of_text(store: Store, content: str) -> tuple[Ref, Value]:
    try:
        return _read(store, content)
    except InvalidDataContentError:
        # What is no address after all is taken for data.
        return _inline(store, content), UNDEFINED


def _read(store: Store, text: str) -> tuple[Ref, Value]:
    """Data, of a `data:` address too; or an address as the parser writes it, and its text if another."""
    content, media_type, url = read_data(text)
    if url is None:
        return _inline(store, str(content)), UNDEFINED if media_type is None else media_type
    held: dict[str, Value] = {"type": "url", "url": url_object(store, url.href)}
    return store.object(held if url.href == text else held | {"originalUrl": text}), UNDEFINED


def _inline(store: Store, data: Value) -> Ref:
    return store.object({"type": "data", "data": data})


def _image_type(store: Store, data: Ref) -> Value:
    inside = get(store, data, "data")
    if get(store, data, "type") != "data" or not isinstance(inside, str):
        return UNDEFINED
    try:
        detected = detect_image_media_type(inside, SIGNATURES)
    except InvalidDataContentError as error:
        raise PackageError("InvalidCharacterError", str(error)) from error
    return UNDEFINED if detected is None else detected


# ---------------------------------------------------------------- parts


def user_part(store: Store, part: Value) -> Ref:
    """A part of a user message; whatever is no text is a file.

    Raises:
        PackageError: if its media type cannot be found.
    """
    kind = get(store, part, "type")
    if kind == "text":
        copied = {name: get(store, part, name) for name in sorted(_TEXT)}
        return store.derive(store.object(copied), part, fields=_TEXT)
    is_image = kind == "image"
    data = get(store, part, "image" if is_image else "data")
    declared = or_else(get(store, part, "mediaType"), "image" if is_image else UNDEFINED)
    made = _file(store, part, data, declared, UNDEFINED if is_image else get(store, part, "filename"))
    return store.derive(made, part, fields=_MEDIA)


def _file(store: Store, part: Value, data: Value, declared: Value, filename: Value) -> Ref:
    tagged, named = tagged_data(store, data)
    media_type = _media_type(store, tagged, named, declared)
    if is_nullish(media_type):
        raise PackageError("Error", "Media type is missing for file part")
    return store.object(
        {
            "type": "file",
            "mediaType": media_type,
            "filename": filename,
            "data": tagged,
            "providerOptions": get(store, part, "providerOptions"),
        }
    )


def _media_type(store: Store, tagged: Ref, named: Value, declared: Value) -> Value:
    return or_else(_image_type(store, tagged), or_else(named, declared))


def other_assistant_part(store: Store, part: Value) -> Value:
    """A file, or what only providers know, of an assistant message; undefined for what is no part of one."""
    kind = get(store, part, "type")
    options = get(store, part, "providerOptions")
    if kind == "custom":
        made: dict[str, Value] = {"type": kind, "kind": get(store, part, "kind"), "providerOptions": options}
        return store.derive(store.object(made), part)
    if kind not in ("file", "reasoning-file"):
        return UNDEFINED
    data, media_type = tagged_data(store, get(store, part, "data"))
    if kind == "reasoning-file" and get(store, data, "type") not in ("data", "url"):
        raise PackageError("Error", "Unsupported reasoning-file data type")
    fields: dict[str, Value] = {
        "type": kind,
        "data": data,
        "filename": get(store, part, "filename") if kind == "file" else UNDEFINED,
        "mediaType": or_else(media_type, get(store, part, "mediaType")),
        "providerOptions": options,
    }
    return store.derive(store.object(fields), part, fields=_MEDIA)


def content_item(store: Store, item: Slot, provider: str) -> Slot:
    """An item of a tool result's content: a file if it is one under whatever name, else the item itself.

    `provider` is the one that an id of a file is from.
    """
    kind = get(store, item, "type")
    if kind == "file":
        named = get(store, item, "filename")
        return store.derive(
            _file(store, item, get(store, item, "data"), get(store, item, "mediaType"), named), item
        )
    if kind not in _OLDER_ITEMS:
        return item
    data, media_type, named = _OLDER_ITEMS[str(kind)](store, item, provider)
    fields: dict[str, Value] = {
        "type": "file",
        "data": data,
        "filename": named,
        "mediaType": media_type,
        "providerOptions": get(store, item, "providerOptions"),
    }
    return store.derive(store.object(fields), item)


_Item = tuple[Ref, Value, Value]


def _of_data(store: Store, item: Value, _provider: str) -> _Item:
    named = get(store, item, "filename") if get(store, item, "type") == "file-data" else UNDEFINED
    return _inline(store, get(store, item, "data")), get(store, item, "mediaType"), named


def _of_address(store: Store, item: Value, _provider: str) -> _Item:
    address, declared = _address(store, item)
    try:
        tagged, named = _read(store, address)
    except InvalidDataContentError as error:
        raise PackageError("AI_InvalidDataContentError", str(error)) from error
    return tagged, _media_type(store, tagged, named, declared), UNDEFINED


def _of_id(store: Store, item: Value, provider: str) -> _Item:
    file_id = get(store, item, "fileId")
    reference = file_id if type(file_id) is Ref else store.object({provider: file_id})
    return _referring(store, item, reference)


def _of_reference(store: Store, item: Value, _provider: str) -> _Item:
    return _referring(store, item, get(store, item, "providerReference"))


def _referring(store: Store, item: Value, reference: Value) -> _Item:
    is_image = str(get(store, item, "type")).startswith("image")
    data = store.object({"type": "reference", "reference": reference})
    return data, "image" if is_image else "application", UNDEFINED


_OLDER_ITEMS: Final = {
    "file-data": _of_data,
    "image-data": _of_data,
    "file-url": _of_address,
    "image-url": _of_address,
    "file-id": _of_id,
    "image-file-id": _of_id,
    "file-reference": _of_reference,
    "image-file-reference": _of_reference,
}


def _address(store: Store, item: Value) -> tuple[str, Value]:
    """The address of an item and its media type, from the address's ending if it has one."""
    text = get(store, item, "url")
    if not isinstance(text, str) or (url := parse_url(text)) is None:
        raise HeapTypeError("Invalid URL")
    if get(store, item, "type") == "image-url":
        return text, "image"
    ending = url.pathname.rpartition(".")[2].lower()
    told = _EXTENSIONS.get(ending, "application/octet-stream")
    return text, or_else(get(store, item, "mediaType"), told)


# ---------------------------------------------------------------- downloads


def addresses(store: Store, messages: Iterable[Value]) -> Iterator[Address]:
    """The addresses of files in messages and in the results of tools."""
    for data, media_type in list(_files(store, messages)):
        tagged, _ = tagged_data(store, data)
        if get(store, tagged, "type") == "url":
            yield text(store, get(store, tagged, "url")), media_type


def matches(media_type: str, begins: str) -> bool:
    """Whether a media type is one of those that a model reads; one without a subtype is only as a whole."""
    if not begins:
        return True
    if "/" not in media_type:
        return f"{media_type}/" == begins
    return media_type.startswith(begins) if begins.endswith("/") else media_type == begins


def _files(store: Store, messages: Iterable[Value]) -> Iterator[tuple[Value, Value]]:
    """Data and media type of every file, wherever it stands."""
    for message in messages:
        role, content = get(store, message, "role"), get(store, message, "content")
        if role == "user" and is_array(store, content):
            for part in elements(store, content):
                yield from _file_of(store, part)
        elif role == "tool" or (role == "assistant" and is_array(store, content)):
            for part in iterated(store, content):
                yield from _files_of_result(store, part)


def _file_of(store: Store, part: Value) -> Iterator[tuple[Value, Value]]:
    kind = get(store, part, "type")
    if kind == "image":
        yield get(store, part, "image"), or_else(get(store, part, "mediaType"), "image")
    elif kind == "file":
        yield get(store, part, "data"), get(store, part, "mediaType")


def _files_of_result(store: Store, part: Value) -> Iterator[tuple[Value, Value]]:
    if get(store, part, "type") != "tool-result":
        return
    output = get(store, part, "output")
    if get(store, output, "type") != "content":
        return
    for item in iterated(store, get(store, output, "value")):
        kind = get(store, item, "type")
        if kind in ("file-url", "image-url"):
            yield _address(store, item)
        elif kind == "file":
            yield get(store, item, "data"), get(store, item, "mediaType")


TAGGED: Final = PromptRules(
    addresses=addresses,
    matches=matches,
    user_part=user_part,
    assistant_part=other_assistant_part,
    content_item=content_item,
    merged_options_kept=True,
    lone_options_kept=True,
    unsafe_keys_dropped=True,
    approvals_excuse_results=False,
)
"""The rules of ai@7.0.173."""
