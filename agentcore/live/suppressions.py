"""Suppressions in a hook's file: `# agentcore: allow KIND for=langchain>=1.2,<1.5 -- the reason`."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, Final

import attrs

from agentcore.live.judge import KINDS

__all__ = ["Suppression", "SuppressionError", "apply_suppressions", "suppressions_in"]

_COMMENT: Final = re.compile(r"(?:#|//)\s*agentcore:\s*allow\b(?P<rest>.*)$")
_FORM: Final = re.compile(r"\s+(?P<kind>[\w-]+)(?:\s+for=(?P<range>\S+))?(?:\s+--\s*(?P<reason>.*))?\s*$")
_PART: Final = re.compile(r"(?P<sign>[<>=!]=?|~=)(?P<version>[\w.+-]+)")
_SYNTAX: Final = "agentcore: allow KIND for=FRAMEWORK>=A,<B -- reason"
# No note to leave out: what ends the process may hide anything.
_NEVER: Final = frozenset({"raises"})


class SuppressionError(ValueError):
    """A suppression that is written wrong; the text says where, and how it is written."""


@attrs.frozen
class Suppression:
    """A suppression as written, with its place.

    Attributes:
        kind: the kind of finding.
        range: the framework and its releases.
        reason: why.
        file: the file, as the hook was named.
        line: the line of the comment.
        whole: whether it stands right above the hook, so that it holds for all of it.
    """

    kind: str
    range: str
    reason: str
    file: str
    line: int
    whole: bool = False

    def as_json(self) -> dict[str, Any]:
        """Returns the form of `findings.schema.json`."""
        return {
            "kind": self.kind,
            "for": self.range,
            "reason": self.reason,
            "file": self.file,
            "line": self.line,
        }

    def holds_for(self, framework: str, version: str | None) -> bool:
        """True if the suppression was granted for this release."""
        name = re.match(r"[\w:.-]*?(?=[<>=!~]|$)", self.range)
        if name is None or name.group() != framework:
            return False
        parts = self.range[len(name.group()) :]
        return not parts or (version is not None and all(_holds(part, version) for part in parts.split(",")))


def suppressions_in(file: Path, name: str, hook: str) -> list[Suppression]:
    """Reads the suppressions of a file, but for those in or right above another definition than the hook's.

    Args:
        file: the file.
        name: the file, as it is reported.
        hook: the export that is checked.

    Raises:
        SuppressionError: for one without a known kind, a release range or a reason.
    """
    found = []
    text = file.read_text(encoding="utf-8", errors="replace")
    places = _definitions(text)
    for number, line in enumerate(text.splitlines(), 1):
        comment = _COMMENT.search(line)
        if comment is None:
            continue
        form = _FORM.match(comment["rest"])
        if form is None or form["kind"] not in KINDS:
            raise SuppressionError(
                f"{name}:{number}: this is no valid suppression; write `{_SYNTAX}` with one of "
                f"{', '.join(KINDS)}"
            )
        if not form["range"] or not form["reason"]:
            raise SuppressionError(
                f"{name}:{number}: a suppression needs the releases and a reason: `{_SYNTAX}`"
            )
        if form["kind"] in _NEVER:
            raise SuppressionError(f"{name}:{number}: {form['kind']} cannot be suppressed; mend the hook")
        owner, first = places.get(number, (None, 0))
        if owner in (None, hook.partition(".")[0]):
            whole = owner is not None and number == first - 1
            found.append(
                Suppression(form["kind"], form["range"], form["reason"].strip(), name, number, whole)
            )
    return found


def _definitions(text: str) -> dict[int, tuple[str, int]]:
    """The function or class at the top of the module that has a line, and its first line, by lines."""
    try:
        body = ast.parse(text).body
    # The hook's own import reports it better; a file that cannot be read as Python has no definitions.
    except SyntaxError:
        return {}
    found: dict[int, tuple[str, int]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            for line in range(first - 1, (node.end_lineno or node.lineno) + 1):
                found[line] = (node.name, first)
    return found


def apply_suppressions(
    findings: list[dict[str, Any]], granted: list[Suppression], framework: str, version: str | None
) -> list[Suppression]:
    """Marks the findings that are suppressed, and returns the suppressions that none needed."""
    used: set[Suppression] = set()
    for finding in findings:
        for each in granted:
            if (
                each.kind == finding["kind"]
                and each.holds_for(framework, version)
                and _is_there(each, finding)
            ):
                finding["suppressed"] = each.as_json()
                finding["counts_for_verdict"] = False
                used.add(each)
    return [each for each in granted if each not in used]


def _is_there(suppression: Suppression, finding: dict[str, Any]) -> bool:
    line = finding["line"]
    if line is None or suppression.whole:
        return True
    return Path(line["file"]).name == Path(suppression.file).name and line["line"] - suppression.line in (
        0,
        1,
    )


def _holds(part: str, version: str) -> bool:
    form = _PART.fullmatch(part.strip())
    if form is None:
        return False
    left, right = _key(version), _key(form["version"])
    size = max(len(left), len(right))
    left, right = left + (0,) * (size - len(left)), right + (0,) * (size - len(right))
    return {
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
        "==": left == right,
        "=": left == right,
        "!=": left != right,
    }.get(form["sign"], False)


def _key(version: str) -> tuple[int, ...]:
    # A prerelease counts as its release: ranges are of releases.
    return tuple(int(each) for each in re.match(r"[\d.]*", version).group().split(".") if each)  # type: ignore[union-attr]
