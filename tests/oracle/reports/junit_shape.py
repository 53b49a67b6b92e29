"""The shape of JUnit's XML that servers agree on: which elements stand in which, with which attributes."""

from __future__ import annotations

from xml.etree import ElementTree as ET

# By element: attributes that it must have, that it may have, and what may stand in it.
_COUNTS = {"tests", "failures", "errors", "skipped"}
_SHAPE: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", *_COUNTS}, {"testsuite"}),
    "testsuite": (
        {"name", "tests"},
        {"failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"},
        {"properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": (
        {"name", "classname"},
        {"time", "status", "assertions"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"message"}, set()),
}
_OUTCOMES = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def assert_junit(text: str) -> ET.Element:
    """The root of the XML, of which everything is as servers expect it."""
    root = ET.fromstring(text.encode())  # noqa: S314 - written here, a moment before
    assert root.tag == "testsuites"
    for element in root.iter():
        required, optional, below = _SHAPE[element.tag]
        assert required <= {*element.attrib} <= required | optional, element.tag
        assert {child.tag for child in element} <= below, element.tag
    for suite in (root, *root):
        cases = [*suite.iter("testcase")]
        assert int(suite.attrib["tests"]) == len(cases)
        for tag, name in _OUTCOMES.items():
            assert int(suite.attrib[name]) == sum(case.find(tag) is not None for case in cases)
    return root
