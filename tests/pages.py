"""Pages of the specification that follow from code; `python tests/pages.py` writes them, a test holds it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from agentcore.differences import Difference
from agentcore.rules import Rule
from oracle.ai_sdk.test_immutable import SHOWN

SPEC: Final = Path(__file__).parent.parent / "spec"

_DIFFERENCES: Final = """\
# Where the core differs from the packages on purpose

For programs without in-place writes, a trace under `immutable` equals the one under the AI SDK 6 profile of
the program's path, but for what this list says. The claims (C.., X..) are about `ai@6.0.134`; those about
middleware (S..) are about `@strands-agents/sdk@1.19.0` and `strands-agents@1.62.0`.

| difference | the core | why |
|---|---|---|
"""

_RULES: Final = """\
# Rules of the core

Each has the same name in code (`agentcore.rules`), in tests and here. The source is a measured claim about
`ai@6.0.134` (C.., X..) or the middleware of Strands Agents (S..), a package itself, or `own` where none has
the thing.

| rule | statement | source |
|---|---|---|
"""


_PROGRAMS: Final = """
## Programs in which they show

A line each, to be run with `agentcore trace` under both profiles, or on the real package.
"""


def differences_page() -> str:
    """`spec/differences.md`."""
    rows = (f"| `{one.value}` | {one.statement} | {one.reason} |\n" for one in Difference)
    shown = (f"\n`{one.value}`:\n\n```json\n{json.dumps(program)}\n```\n" for one, _, program in SHOWN)
    return _DIFFERENCES + "".join(rows) + _PROGRAMS + "".join(shown)


def rules_page() -> str:
    """`spec/rules.md`."""
    return _RULES + "".join(f"| `{one.value}` | {one.statement} | {one.source} |\n" for one in Rule)


PAGES: Final = {"differences.md": differences_page, "rules.md": rules_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (SPEC / name).write_text(page(), encoding="utf-8")
