"""`agentcore check-hook`: a person's own hook; `agentcore grade`: their own tests of isolation."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from agentcore.cli.terminal import console, html_option, save_page, say, warn
from agentcore.live import reporting
from agentcore.live.adapters.known import KNOWN
from agentcore.live.check import Request, check
from agentcore.live.installs import InstallError, cache_folder
from agentcore.live.judge import KINDS
from agentcore.live.process import WorkerFailedError
from agentcore.live.recorded import recorded
from agentcore.live.suppressions import SuppressionError

__all__ = [
    "check_hook",
    "grade",
    "lines",
]

_USAGE: Final = 2
_NOT_JUDGED: Final = 3
_TOOL: Final = 4
_BIN: Final = Path(reporting.__file__).parent / "js" / "bin" / "check-hook.js"


def _list(context: click.Context, _: click.Parameter, value: bool) -> None:
    if not value:
        return
    out = console()
    for name, known in KNOWN.items():
        say(out, f"{name} ({known.language}; tried with {', '.join(known.tried)})")
        say(out, f"  --at    {', '.join(known.boundaries)}")
        say(out, f"  --path  {', '.join(known.paths)}")
    say(out, "my_loop:adapter (a loop of one's own; spec/live.md says how an adapter is written)")
    context.exit(0)


def _kinds(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    kinds = tuple(each.strip() for each in value.split(",") if each.strip())
    unknown = [each for each in kinds if each not in KINDS]
    if unknown or not kinds:
        raise click.BadParameter(f"{', '.join(unknown) or 'nothing'}; there are {', '.join(KINDS)}")
    return kinds


@click.command(name="check-hook")
@click.argument("hook")
@click.option("--in", "framework", required=True, metavar="FRAMEWORK[@VERSION]", help="See --list.")
@click.option(
    "--at", required=True, metavar="BOUNDARY", help="Where the framework calls the hook; see --list."
)
@click.option(
    "--project",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The folder whose installation is used; by default the one nearest to the hook.",
)
@click.option("--factory", is_flag=True, help="The export makes the hook.")
@click.option("--examples", type=click.IntRange(min=1), default=60, show_default=True, help="Conversations.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the first random conversation.")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Recorded conversations, or messages of the framework, as JSON: they come first, then variants.",
)
@click.option("--texts", multiple=True, metavar="TEXT", help="What some texts begin with; may be repeated.")
@click.option("--path", metavar="PATH", help="The only path of the framework to run: generate or stream.")
@click.option("--kinds", callback=_kinds, metavar="KIND,...", help="The only kinds of findings that count.")
@click.option("--json", "form", flag_value="json", help="Print the report as JSON.")
@click.option("--junit", "form", flag_value="junit", help="Print it as JUnit XML.")
@click.option("--sarif", "form", flag_value="sarif", help="Print it as SARIF.")
@html_option("agentcore-hook.html")
@click.option("--fail-on", type=click.Choice(["fault", "note"]), default="fault", show_default=True)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Seconds that one call of the hook may take.",
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list,
    help="Print frameworks, boundaries and releases.",
)
@click.pass_context
def check_hook(context: click.Context, /, **given: Any) -> None:
    """Check HOOK, as FILE#EXPORT or module:attribute, in the framework release that is installed.

    Random conversations run with the hook live and with the hook as a value: it gets copies, and only what it
    returns counts. A difference is the effect of a write. The hook runs in a process of its own.

    Exits with 0 if nothing was found at or above --fail-on, 1 if something was, 2 for wrong usage, 3 if the
    hook could not be judged, 4 if the tool failed.
    """
    framework, _, version = given["framework"].partition("@")
    _require_known(framework, version, given)
    _require_folder(given["html"])
    if _is_javascript(framework):
        context.exit(_delegated(given))
    try:
        report = _checked(framework, version or None, given)
    except SuppressionError as error:
        raise click.UsageError(str(error)) from error
    except InstallError as error:
        say(console(stderr=True), str(error), "red")
        context.exit(_NOT_JUDGED)
    except WorkerFailedError as error:
        text = f"the check failed, and not by the hook; please report this:\n{error}"
        say(console(stderr=True), text, "red")
        context.exit(_TOOL)
    _print(report, given["form"])
    _play(report, given)
    context.exit(report["exit"])


def _require_folder(html: Path | None) -> None:
    """A check takes its time: what would fail at its end is refused before."""
    if html is not None and not html.resolve().parent.is_dir():
        raise click.BadParameter(f"there is no folder {html.parent}", param_hint="--html")


def _play(report: dict[str, Any], given: dict[str, Any]) -> None:
    """Writes the page, if one is asked for."""
    if given["html"] is not None:
        # Here, because it needs what only pages need.
        from agentcore.live.page import player_of  # noqa: PLC0415

        save_page(player_of(report), given["html"], stderr=given["form"] is not None)


def _is_javascript(framework: str) -> bool:
    """Returns whether the JavaScript core judges: a package of npm, or an adapter in a file of JavaScript."""
    file, _, _ = framework.rpartition(":")
    known = KNOWN.get(framework)
    return (known is not None and known.language == "javascript") or file.endswith(
        (".js", ".mjs", ".ts", ".mts")
    )


def _require_known(framework: str, version: str, given: dict[str, Any]) -> None:
    hook, mark, export = given["hook"].rpartition("#")
    if not (mark and hook and export) and (_is_javascript(framework) or ":" not in given["hook"]):
        raise click.BadParameter(
            f"{given['hook']} is neither FILE#EXPORT nor module:attribute; write hooks.py#my_hook, "
            "hooks.ts#myHook or my_package.hooks:my_hook",
            param_hint="HOOK",
        )
    known = KNOWN.get(framework)
    if known is None:
        if ":" not in framework:
            raise click.BadParameter(
                f"no framework is named {framework}; there are {', '.join(KNOWN)}", param_hint="--in"
            )
        if version:
            raise click.BadParameter("a loop of one's own has no release to install", param_hint="--in")
        return
    if given["at"] not in known.boundaries:
        raise click.BadParameter(
            f"{framework} has no boundary {given['at']}; it has {', '.join(known.boundaries)}",
            param_hint="--at",
        )
    if given["path"] is not None and given["path"] not in known.paths:
        raise click.BadParameter(f"{framework} has the paths {', '.join(known.paths)}", param_hint="--path")


def _checked(framework: str, version: str | None, given: dict[str, Any]) -> dict[str, Any]:
    source = given["source"]
    if source is not None:
        try:
            recorded(source)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--from") from error
    request = Request(
        hook=given["hook"],
        framework=framework,
        at=given["at"],
        version=version,
        project=given["project"],
        factory=given["factory"],
        examples=given["examples"],
        seed=given["seed"],
        recorded=source,
        texts=given["texts"],
        path=given["path"],
        kinds=given["kinds"] or KINDS,
        fail_on=given["fail_on"],
        limit=given["time_limit"],
    )
    return check(request)


def _delegated(given: dict[str, Any]) -> int:
    """Runs the JavaScript core, which judges hooks of JavaScript frameworks and prints its report itself."""
    node = shutil.which("node")
    if node is None:
        say(
            console(stderr=True),
            f"--in {given['framework']} needs Node.js: install 20 or newer, so that `node` is on the PATH",
            "red",
        )
        return _NOT_JUDGED
    options = [given["hook"], "--in", given["framework"], "--at", given["at"]]
    for name in ("project", "path"):
        options += [f"--{name}", str(given[name])] if given[name] is not None else []
    options += ["--from", str(given["source"])] if given["source"] is not None else []
    options += ["--kinds", ",".join(given["kinds"])] if given["kinds"] else []
    options += ["--factory"] if given["factory"] else []
    options += [each for text in given["texts"] for each in ("--texts", text)]
    options += [
        "--examples",
        str(given["examples"]),
        "--seed",
        str(given["seed"]),
        "--fail-on",
        given["fail_on"],
        "--time-limit",
        str(given["time_limit"]),
    ]
    options += [f"--{given['form']}"] if given["form"] else []
    # The same cache, unless the person has another.
    environment = {"AGENTCORE_CACHE": str(cache_folder()), **os.environ}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        options += ["--report", str(file)] if given["html"] is not None else []
        command = [node, str(_BIN), "check-hook", *options]
        done = subprocess.run(command, check=False, env=environment)  # noqa: S603 - the core of this package
        if file.is_file():
            _play(json.loads(file.read_text("utf-8")), given)
    return done.returncode


def _print(report: dict[str, Any], form: str | None) -> None:
    if form is None:
        say(console(), reporting.text(report).rstrip("\n"))
    elif form == "json":
        click.echo(json.dumps(report, indent=2, ensure_ascii=True))
    else:
        click.echo(reporting.junit(report) if form == "junit" else reporting.sarif(report), nl=False)


_WEAK: Final = 1
_NO_TESTS: Final = 5
_OF_USAGE: Final = 4


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("tests", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def grade(context: click.Context, /, tests: tuple[str, ...], *, as_json: bool) -> None:
    """Say which copy depths the pytest tests TESTS can't tell from isolation.

    TESTS are what pytest takes: files, folders, names of tests, and options. Those that ask for the fixture
    `handed_out` run once for each depth to which a framework may copy messages; a test that passes though
    objects are shared is too weak, and the assertion that it lacks is printed.

    Exits with 0 if each test tells all depths apart, 1 if one does not, 2 for wrong usage, 3 if no test could
    be judged or one could not, 4 if the tool failed.
    """
    # Here, because they need pytest.
    from agentcore.testing.grading import grades, is_weak, not_judged  # noqa: PLC0415
    from agentcore.testing.plugin import GRADE  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcomes.json"
        done = subprocess.run(  # noqa: S603 - pytest, with what the person asks for
            # Options first: a `--cov` at the end of a person's own would take the tests for its source.
            [sys.executable, "-m", "pytest", "-q", GRADE, str(file), *tests],
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode == _OF_USAGE:
            raise click.UsageError(done.stderr.strip() or done.stdout.strip())
        outcomes = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    found = grades(outcomes)
    if not found:
        warn(f"no test that asks for handed_out was run:\n{(done.stdout + done.stderr).strip()[-1500:]}")
        context.exit(_NOT_JUDGED if done.returncode in (0, 1, 2, _NO_TESTS) else _TOOL)
    if as_json:
        click.echo(json.dumps({"format": 1, "tests": found}, indent=2))
    else:
        say(console(), "\n".join(lines(found)))
    weak = any(map(is_weak, found))
    context.exit(_WEAK if weak else _NOT_JUDGED if not_judged(found) else 0)


def lines(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields what people read of grades."""
    for test in found:
        if test["not_judged"] is not None:
            yield f"{test['test']}: not judged: {test['not_judged']}"
            continue
        weak = [each for each in test["depths"] if not each["told"]]
        told = ", ".join(each["depth"] for each in test["depths"] if each["told"]) or "none"
        yield f"{test['test']}: tells {told} from isolation"
        for each in weak:
            yield f"  cannot tell {each['depth']}" + (
                f": {each['why']}" if "why" in each else "; this would:"
            )
            if "assertion" in each:
                yield textwrap.indent(each["assertion"], "    ")
