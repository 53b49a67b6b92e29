"""The report as JUnit XML, for servers that show tests: each finding is a test case that fails."""

from __future__ import annotations

from typing import Any, Final, TypeAlias
from xml.etree import ElementTree as ET

from agentcore.kit.safe_text import visible
from agentcore.oracle.spec.vectors import pretty

__all__ = ["text"]

Json: TypeAlias = dict[str, Any]

# Of what an implementation does wrong; everything else could not be tested, which JUnit calls an error.
_FAILURE: Final = "wrong"


def text(document: Json) -> str:
    """One suite: a case for the programs as a whole, and one for each finding."""
    findings = document["findings"]
    failures = sum(finding["outcome"] == _FAILURE for finding in findings)
    nothing = document["verdict"] == "no verdict" and not findings
    numbers = {
        "tests": len(findings) + 1,
        "failures": failures,
        "errors": len(findings) - failures,
        "skipped": int(nothing),
    }
    counts = {name: str(number) for name, number in numbers.items()}
    root = ET.Element("testsuites", counts)
    name = f"agentcore check {document['profile']}"
    suite = ET.SubElement(root, "testsuite", {"name": name, **counts, "time": _seconds(document)})
    _properties(suite, document)
    whole = _case(suite, document, f"{document['programs']} programs from seed {document['seed']}")
    whole.set("time", _seconds(document))
    if nothing:
        ET.SubElement(whole, "skipped", {"message": "nothing was compared"})
    for finding in findings:
        _finding(_case(suite, document, _title(finding)), finding)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _properties(suite: ET.Element, document: Json) -> None:
    properties = ET.SubElement(suite, "properties")
    driver = document["target"] or " ".join(document["driver"])
    known = {"driver": driver, "seed": document["seed"], "ended": document["ended"], **document["outcomes"]}
    for name, value in known.items():
        ET.SubElement(properties, "property", {"name": name, "value": visible(str(value))})


def _case(suite: ET.Element, document: Json, name: str) -> ET.Element:
    return ET.SubElement(
        suite, "testcase", {"classname": f"agentcore.check.{document['profile']}", "name": visible(name)}
    )


def _title(finding: Json) -> str:
    cause = f" by {finding['op']} in {finding['hook']}" if finding["op"] else ""
    return f"{finding['outcome']} {finding['where']}".rstrip() + cause


def _finding(case: ET.Element, finding: Json) -> None:
    tag = "failure" if finding["outcome"] == _FAILURE else "error"
    message = f"{finding['programs']} programs, the first of them {finding['original']}"
    element = ET.SubElement(case, tag, {"type": finding["outcome"], "message": visible(message)})
    element.text = visible(f"{_evidence(finding)}\n\n{pretty(finding['program'])}\n")


def _evidence(finding: Json) -> str:
    match finding:
        case {"difference": {"diff": str(diff)}}:
            return diff
        case {"failure": {"reason": reason, "stderr": said}}:
            return f"{reason}\n{said}".rstrip()
    return str(finding["traceback"])


def _seconds(document: Json) -> str:
    return f"{document['seconds']:.3f}"
