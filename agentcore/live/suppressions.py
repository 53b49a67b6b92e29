"""Suppressions in a hook's file: `# agentcore: allow KIND for=langchain>=1.2,<1.5 -- the reason`."""

from __future__ import annotations

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
    """A suppression as written, with its place."""

    kind: str
    range: str
    reason: str
    file: str
    line: int

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
        """Whether it was granted for this release."""
        name = re.match(r"[\w:.-]*?(?=[<>=!~]|$)", self.range)
        if name is None or name.group() != framework:
            return False
        parts = self.range[len(name.group()) :]
        return not parts or (version is not None and all(_holds(part, version) for part in parts.split(",")))


def suppressions_in(file: Path, name: str) -> list[Suppression]:
    """Reads the suppressions of a file.

    Raises:
        SuppressionError: for one without a known kind, a release range or a reason.
    """
    found = []
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        comment = _COMMENT.search(line)
        if comment is None:
            continue
        form = _FORM.match(comment["rest"])
        if form is None or form["kind"] not in KINDS:
            raise SuppressionError(
                f"{name}:{number}: no suppression; write `{_SYNTAX}` with one of {', '.join(KINDS)}"
            )
        if not form["range"] or not form["reason"]:
            raise SuppressionError(
                f"{name}:{number}: a suppression needs the releases and a reason: `{_SYNTAX}`"
            )
        if form["kind"] in _NEVER:
            raise SuppressionError(f"{name}:{number}: {form['kind']} cannot be suppressed")
        found.append(Suppression(form["kind"], form["range"], form["reason"].strip(), name, number))
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
    if line is None:
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
