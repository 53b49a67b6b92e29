"""Sessions that run everything: `nox` for what each commit needs, `nox -l` for all of them."""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "quick"]
nox.options.default_venv_backend = "venv"
# The versions that pyproject.toml claims.
PYTHONS = ("3.11", "3.12", "3.13")
QUICK = "not live and not slow"
CAMPAIGNS = (
    "ai-sdk@6.0.134",
    "ai-sdk@7.0.173",
    "mastra@1.0.4",
    "mastra@1.71.0",
    "strands-ts@1.5.0",
    "strands-ts@1.19.0",
    "strands-py@1.62.0",
)


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    """Style, layout and types."""
    session.install("-e", ".[test]", "nox")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("mypy")


@nox.session(python=PYTHONS)
def quick(session: nox.Session) -> None:
    """The tests that need no real package and do not take long."""
    session.install("-e", ".[test]")
    session.run("pytest", "-n", "auto", "-m", QUICK, *session.posargs)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """All tests, with coverage."""
    session.install("-e", ".[test]")
    session.run("pytest", "-n", "auto", "--cov", *session.posargs)


@nox.session(python=PYTHONS[0])
@nox.parametrize("target", CAMPAIGNS)
def campaign(session: nox.Session, target: str) -> None:
    """A long campaign of random programs on a real package; `-- -n 100000` for a longer one."""
    session.install("-e", ".")
    size = session.posargs or ("-n", "10000", "--jobs", "2")
    session.run("agentcore", "check", "--target", target, *size)


@nox.session(python=PYTHONS[0])
def live_corpora_js(session: nox.Session) -> None:
    """Judges the JavaScript corpus in every release and on every path, over 300 conversations each."""
    session.install("-e", ".[test]")
    environment = {"AGENTCORE_LIVE_ALL": "1", "AGENTCORE_LIVE_EXAMPLES": "300"}
    session.run("pytest", "tests/live/test_js.py", "-k", "table", *session.posargs, env=environment)
