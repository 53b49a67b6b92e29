from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import InvalidDataContentError
from agentcore.messages.chains import to_prompt
from agentcore.messages.converters import (
    IMAGE_SIGNATURES,
    Data,
    detect_image_media_type,
    parse_url,
    read_data,
)
from agentcore.messages.messages import FilePart, ImagePart, UserMessage
from agentcore.messages.values import vector
from agentcore.requirements.differences import Difference
from agentcore.requirements.rules import Rule
from rulebook import states

# Recorded from ai@6.0.134: an image, then data and media type of its file part in the prompt; None: an error.
RECORDED: list[tuple[str, tuple[str, str] | None]] = [
    ("iVBORw0KGgowMDAw", ("iVBORw0KGgowMDAw", "image/png")),
    ("R0lGODlhMDAwMDAw", ("R0lGODlhMDAwMDAw", "image/gif")),
    ("/9j/MDAw", ("/9j/MDAw", "image/jpeg")),
    ("UklGRjAwMDBXRUJQ", ("UklGRjAwMDBXRUJQ", "image/webp")),
    ("Qk0wMDAw", ("Qk0wMDAw", "image/bmp")),
    ("SUkqADA=", ("SUkqADA=", "image/tiff")),
    ("TU0AKjA=", ("TU0AKjA=", "image/tiff")),
    ("AAAAIGZ0eXBhdmlm", ("AAAAIGZ0eXBhdmlm", "image/avif")),
    ("AAAAIGZ0eXBoZWlj", ("AAAAIGZ0eXBoZWlj", "image/heic")),
    ("UklGRjAwMDBXQVZF", ("UklGRjAwMDBXQVZF", "image/*")),
    ("UklGRg==", ("UklGRg==", "image/*")),
    ("", ("", "image/*")),
    ("-_8=", ("-_8=", "image/*")),
    ("/9j_", ("/9j_", "image/jpeg")),
    ("R0l\nG", ("R0l\nG", "image/gif")),
    ("/9g", ("/9g", "image/jpeg")),
    ("/9g=", ("/9g=", "image/jpeg")),
    ("/9==", ("/9==", "image/*")),
    ("/9=", None),
    ("/", None),
    ("a=b=", None),
    ("hi there", ("hi there", "image/*")),
    ("\u00e9", None),
    ("SUQzBAAAAAAAAnp6/9j/", ("SUQzBAAAAAAAAnp6/9j/", "image/jpeg")),
    ("SUQzBAA=", ("SUQzBAA=", "image/*")),
    ("data:image/png;base64,AAAA", ("AAAA", "image/png")),
    ("data:image/png;base64,/9j/AAAA", ("/9j/AAAA", "image/jpeg")),
    ("DATA:image/webp,AAAA", ("AAAA", "image/webp")),
    (" data:,AAAA\n", ("AAAA", "")),
    ("data:;base64,AAAA", ("AAAA", "")),
    ("data:a/b,AA,AA", ("AA", "a/b")),
    ("data:image/png", None),
    ("data:image/png;base64,AA#AA", None),
    ("data:i\u00e4/x,AAAA", ("AAAA", "i%C3%A4/x")),
    ("data:a/b,%20", None),
    ("data:a/b?c,AAAA", ("AAAA", "a/b?c")),
    ("data:a b/c ,AAAA", ("AAAA", "a b/c ")),
    ('data:a/b? ",AAAA', ("AAAA", "a/b?%20%22")),
    ("da\tta:a/b,AA\nAA", ("AAAA", "a/b")),
    ("data:a/b,x:y", None),
    ("http:", None),
    ("foo:bar", ("foo:bar", "image/*")),
    ("cid:x", ("cid:x", "image/*")),
]


@states(Rule.PROMPT_IMAGE_BECOMES_FILE, Rule.PROMPT_DATA_URL_SPLIT, Difference.URLS_KEPT)
@pytest.mark.parametrize(("image", "shown"), RECORDED)
def test_an_image_in_a_prompt_is_the_file_part_that_the_package_makes(
    image: str, shown: tuple[str, str] | None
) -> None:
    message = UserMessage([ImagePart(image)])
    if shown is None:
        with pytest.raises(InvalidDataContentError) as refused:
            to_prompt(None, [message])
        assert refused.value.path == "$.messages[0].content[0]"
    else:
        assert to_prompt(None, [message]) == vector([UserMessage([FilePart(*shown)])])


@pytest.mark.parametrize(("media_type", "signature"), IMAGE_SIGNATURES)
def test_raw_bytes_and_base64_text_are_told_alike(media_type: str, signature: tuple[int | None, ...]) -> None:
    raw = bytes(0 if byte is None else byte for byte in signature) + b"more"
    assert detect_image_media_type(raw) == media_type
    assert detect_image_media_type(base64.b64encode(raw).decode()) == media_type
    assert detect_image_media_type(raw[: len(signature) - 1]) != media_type


def test_bytes_are_looked_at_behind_an_id3_tag() -> None:
    tagged = b"ID3\x04\0\0" + bytes([0, 0, 1, 2]) + b"z" * 130 + b"\xff\xd8\xff"
    assert detect_image_media_type(tagged) == "image/jpeg"
    assert detect_image_media_type(b"ID3\x04\0\0\0\0\0\0") is None


def test_bytes_are_no_url() -> None:
    assert read_data(b"data:image/png,AAAA") == Data(b"data:image/png,AAAA")


# node -e 'for (const s of [...]) console.log(new URL(s).href)'; None: it throws.
URLS: Final = {
    "https://example.com": "https://example.com/",
    " HTTPS://Example.COM:443/a/../b c?d e#f g\n": "https://example.com/b%20c?d%20e#f%20g",
    "ht\ttps:\\\\example.com\\a": "https://example.com/a",
    "https://ex\u00e4mple.com/\u00e4": "https://xn--exmple-cua.com/%C3%A4",
    "https://example.com/\ud800": "https://example.com/%EF%BF%BD",
    "https://example.com/\ud83d\ude00": "https://example.com/%F0%9F%98%80",
    "https://0x7f.1": "https://127.0.0.1/",
    "DATA:Text/Plain,A B": "data:Text/Plain,A B",
    "cid:Part One": "cid:Part One",
    "a:": "a:",
    "http:": None,
    "http://a b": None,
    "https://[::1": None,
    "https://example.com:99999": None,
    "1a:b": None,
    "/a:b": None,
    "": None,
}
URL_TEXTS: Final = st.lists(
    st.sampled_from(
        (
            *("http:", "HTTPS://", "//", "a:", "data:", "file:", "Ex.com", "\u00e4", ":80", "/", "..", "\\"),
            *(
                "@",
                "?",
                "#",
                " ",
                "\t",
                "%41",
                "%zz",
                ",",
                "[::1]",
                "1.2",
                "\ud800",
                "\U0001f600",
                "<",
                '"',
                "|",
            ),
        )
    ),
    max_size=8,
).map("".join)


def href(text: str) -> str | None:
    url = parse_url(text)
    return None if url is None else url.href


@pytest.mark.parametrize(("text", "shown"), URLS.items())
def test_a_url_is_what_node_makes_of_it(text: str, shown: str | None) -> None:
    assert href(text) == shown


@pytest.mark.live
def test_node_and_the_parser_here_agree_about_random_urls() -> None:
    node = shutil.which("node")
    if node is None:
        assert not os.environ.get("CI"), "node is missing, and in CI it must not be"
        pytest.skip("node is not installed: the recorded ones above are compared all the same")
    texts = [*URLS]

    @given(URL_TEXTS)
    def collect(text: str) -> None:
        texts.append(text)

    collect()
    script = (
        "const parsed = (text) => { try { return new URL(text).href } catch { return null } };"
        "const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "console.log(JSON.stringify(texts.map(parsed)))"
    )
    given_texts = json.dumps(texts)
    done = subprocess.run([node, "-e", script], input=given_texts, capture_output=True, text=True, check=True)
    assert dict(zip(texts, json.loads(done.stdout), strict=True)) == {text: href(text) for text in texts}


def test_a_url_of_another_scheme_is_kept() -> None:
    content, media_type, url = read_data("HTTPS://example.com/a.png")
    assert (content, media_type) == ("HTTPS://example.com/a.png", None)
    assert url is not None
    assert url.href == "https://example.com/a.png"


@given(st.binary(max_size=40))
def test_base64_text_is_told_as_its_bytes_are(raw: bytes) -> None:
    assert detect_image_media_type(base64.b64encode(raw).decode()) == detect_image_media_type(raw)
    assert detect_image_media_type(base64.urlsafe_b64encode(raw).decode()) == detect_image_media_type(raw)


@given(st.text(max_size=30))
def test_any_text_is_told_or_refused_with_a_typed_error(text: str) -> None:
    for function in (detect_image_media_type, read_data):
        with contextlib.suppress(InvalidDataContentError):
            function(text)
