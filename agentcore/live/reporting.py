"""Reports of a live check as text, JUnit XML and SARIF; the JSON is the report itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

__all__ = ["counts", "junit", "place_of", "sarif", "text"]

_DOCS: Final = "https://github.com/agentcore-reference/agentcore/blob/main/spec/live.md"
_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def text(report: dict[str, Any]) -> str:
    """Returns the report as people read it; the last line counts."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: dict[str, Any]) -> Iterator[str]:
    framework, hook = report["framework"], report["hook"]
    release = f"{framework['name']} {framework['version'] or '(no release)'}"
    where = f" ({framework['resolved_from']})" if framework["resolved_from"] else ""
    yield f"{hook['name']} at {hook['at']} in {release}{where}"
    yield "each conversation runs several times, with a scripted model and scripted tools; nothing is sent"
    for finding in report["findings"]:
        yield ""
        yield from _finding(finding, report)
    for each in report["suppressions"]["unused"]:
        yield f"\n{each['file']}:{each['line']}: {_unused(each, report, release)}"
    prefix = report["measures"]["prefix"]
    yield ""
    if prefix is not None:
        by = f"; broken by {prefix['broken_by']} ({prefix['conversation']})" if prefix["broken_by"] else ""
        yield (
            f"prompt that a cache cannot reuse: {prefix['with_hook']:.0%} with the hook,"
            f" {prefix['without_hook']:.0%} without{by}"
        )
    if report["not_judged"] is not None:
        yield f"NOT JUDGED ({report['not_judged']['reason']}): {report['not_judged']['message']}"
    counting = [each["severity"] for each in report["findings"] if each["counts_for_verdict"]]
    others = len(report["findings"]) - len(counting)
    more = f", {others} that {'does' if others == 1 else 'do'} not count" if others else ""
    yield (
        f"{report['verdict'] or 'not judged'}: {_count(counting.count('fault'), 'fault')},"
        f" {_count(counting.count('note'), 'note')}{more}; {counts(report)}"
    )


def counts(report: Mapping[str, Any]) -> str:
    """Returns how much was checked, in words."""
    count = report["conversations"]
    return (
        f"{count['run']} conversations, {count['judged']} judged,"
        f" {_count(count['calls'], 'call')} of the hook"
    )


def _unused(suppression: dict[str, Any], report: dict[str, Any], release: str) -> str:
    kind = suppression["kind"]
    if any(each["kind"] == kind and each["suppressed"] is None for each in report["findings"]):
        wanted = f"this suppression of {kind}, for {suppression['for']}, does not hold here, in {release}"
        return f"{wanted}; mend the hook, or grant it anew at the line that writes or right above the hook"
    return f"this suppression of {kind} is unused; take it out"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def place_of(finding: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    """Returns where a finding is: file, line and column, else the hook."""
    line = finding["line"]
    if line is None:
        return str(report["hook"]["file"] or report["hook"]["name"])
    column = f":{line['column']}" if line["column"] else ""
    return f"{line['file']}:{line['line']}{column}"


def _finding(finding: dict[str, Any], report: dict[str, Any]) -> Iterator[str]:
    off = "" if finding["counts_for_verdict"] else "  (does not count)"
    if finding["suppressed"] is not None:
        off = f"  (suppressed for {finding['suppressed']['for']}: {finding['suppressed']['reason']})"
    yield f"{place_of(finding, report)}  {finding['severity']}  {finding['kind']}{off}"
    yield f"  {finding['message']}"
    if finding["before"] is not None or finding["after"] is not None:
        yield f"  changed    {finding['before'] or 'nothing'} -> {finding['after'] or 'nothing'}"
    seen = ", ".join(finding["seen"])
    yield f"  seen       {seen + '; ' if seen else ''}{finding['counts']['text']} conversations"
    yield f"  instead    {finding['remedy']}"
    yield f"  more       spec/live.md, live.{finding['kind']}"
    if finding["severity"] == "fault" and finding["test"]:
        yield "  a test to paste:"
        yield ""
        yield from (f"    {line}".rstrip() for line in finding["test"].splitlines())


def junit(report: dict[str, Any]) -> str:
    """Returns the report as JUnit XML: one test case, with a failure for each finding that counts."""
    hook, framework = report["hook"], report["framework"]
    name = f"{hook['name']} at {hook['at']}"
    group = f"{framework['name']} {framework['version'] or ''}".strip()
    counting = [each for each in report["findings"] if each["counts_for_verdict"]]
    failed = [each for each in counting if report["exit"] == 1]
    error = report["not_judged"] if report["exit"] == 3 else None  # noqa: PLR2004 - the exit code of not judged
    sums = f'tests="1" failures="{int(bool(failed))}" errors="{int(error is not None)}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="agentcore check-hook" {sums}>',
        f"  <testcase classname={quoteattr(group)} name={quoteattr(name)}>",
    ]
    for each in failed:
        body = escape(_clean("\n".join(_finding(each, report))))
        lines.append(
            f"    <failure type={quoteattr(each['kind'])} message={quoteattr(_clean(each['message']))}>"
            f"{body}</failure>"
        )
    if error is not None:
        lines.append(
            f"    <error type={quoteattr(error['reason'])} message={quoteattr(_clean(error['message']))}/>"
        )
    return "\n".join([*lines, "  </testcase>", "</testsuite>", ""])


def _clean(said: str) -> str:
    """Removes characters that XML does not allow; a hook's texts may hold any."""
    return "".join(
        each if each in "\n\t" or " " <= each < "\ud800" or "\ue000" <= each < "\ufffe" else "?"
        for each in said
    )


def sarif(report: dict[str, Any]) -> str:
    """Returns the report as SARIF 2.1.0."""
    rules = [*dict.fromkeys(each["kind"] for each in report["findings"])]
    run = {
        "tool": {
            "driver": {
                "name": "agentcore check-hook",
                "version": report["tool"]["version"],
                "rules": [{"id": kind, "helpUri": f"{_DOCS}#live{kind}"} for kind in rules],
            }
        },
        "invocations": [{"executionSuccessful": report["not_judged"] is None, "exitCode": report["exit"]}],
        "results": [_result(each, report) for each in report["findings"]],
    }
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(finding: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    line = finding["line"]
    file = line["file"] if line is not None else report["hook"]["file"]
    result: dict[str, Any] = {
        "ruleId": finding["kind"],
        "level": "error" if finding["severity"] == "fault" else "note",
        "message": {"text": finding["message"]},
        "partialFingerprints": {"agentcore/v1": finding["fingerprint"]},
    }
    if file is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": file}}
        if line is not None:
            physical["region"] = {"startLine": line["line"]}
        result["locations"] = [{"physicalLocation": physical}]
    if not finding["counts_for_verdict"]:
        said = finding["suppressed"]["reason"] if finding["suppressed"] else "left out by --kinds"
        result["suppressions"] = [
            {"kind": "inSource" if finding["suppressed"] else "external", "justification": said}
        ]
    return result
