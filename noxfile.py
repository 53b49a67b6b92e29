"""Sessions that run everything: `nox` for what each commit needs, `nox -l` for all of them."""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "quick"]
nox.options.default_venv_backend = "venv"
# The versions that pyproject.toml claims.
PYTHONS = ("3.11", "3.12", "3.13")
QUICK = "not live and not slow"


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
    """All tests with all their cases, with coverage; takes hours."""
    session.install("-e", ".[test]")
    session.run("pytest", "-n", "auto", "--cov", *session.posargs, env={"AGENTCORE_WHOLE": "1"})


@nox.session(python=PYTHONS[0])
def properties(session: nox.Session) -> None:
    """The tests that draw their examples, 2,000 of them each; takes hours."""
    session.install("-e", ".[test]")
    named = session.posargs or ["-m", "not live"]
    session.run("pytest", "-n", "auto", *named, env={"HYPOTHESIS_PROFILE": "campaign"})


@nox.session(python=PYTHONS[0])
def site(session: nox.Session) -> None:
    """The site, in the folder `site` or the one that is named; a warning is an error."""
    session.install("-e", ".[site]")
    session.run("python", "-m", "tools.site", *(session.posargs or ["site"]), "--strict")


# Each target with each of its profiles.
_PROFILES = """
from agentcore.kit.families import profiles_under
from agentcore.kit.framework import PACKAGES
for name, package in PACKAGES.items():
    print(*(f"{name}:{profile}" for profile in profiles_under(package.profile).values()))
"""


@nox.session(python=PYTHONS[0])
def campaign(session: nox.Session) -> None:
    """Long campaigns of random programs on real packages; `-- TARGET -n 100000` for one, and a longer one.

    Their results are kept in `tools/data/campaigns.json`, to be committed.
    """
    session.install("-e", ".[test]")
    named = [word for word in session.posargs[:1] if "@" in word]
    size = session.posargs[len(named) :] or ("-n", "10000", "--jobs", "2")
    pairs = str(session.run("python", "-c", _PROFILES, silent=True)).split()
    for pair in pairs:
        target, _, profile = pair.partition(":")
        if not named or target in named:
            report = f"{session.create_tmp()}/{pair.replace('/', '-')}.json"
            found = ("agentcore", "check", "--target", target, "--profile", profile, "--report", report)
            session.run(*found, *size, success_codes=[0, 1])
            session.run("python", "-m", "tools.campaigns", report)
    session.run("python", "tests/pages.py")


@nox.session(python=PYTHONS[0])
def live_corpora(session: nox.Session) -> None:
    """All hooks of the live checks in the real frameworks, 300 conversations each; takes hours."""
    session.install("-e", ".[test]", "pytest-xdist")
    files = ("test_boundaries", "test_corpus", "test_kinds", "test_approvals", "test_streams")
    named = session.posargs or [f"tests/live/{name}.py" for name in files]
    environment = {"AGENTCORE_WHOLE": "1", "AGENTCORE_LIVE_EXAMPLES": "300"}
    session.run("pytest", "-n", "2", *named, env=environment)


@nox.session(python=PYTHONS[0])
def live_corpora_js(session: nox.Session) -> None:
    """Judges the JavaScript corpora in every release and on every path, over 300 conversations each."""
    session.install("-e", ".[test]")
    environment = {"AGENTCORE_WHOLE": "1", "AGENTCORE_LIVE_EXAMPLES": "300"}
    session.run(
        "pytest", "tests/live/test_js.py", "-k", "table or boundaries", *session.posargs, env=environment
    )
