"""`agentcore check`: random programs on an implementation and on the reference."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from contextlib import AbstractContextManager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs
import click

from agentcore.cli.check_printer import EXIT_CODES, CheckPrinter
from agentcore.cli.terminal import console, printable, progress, require_program, warn, written
from agentcore.kit.families import DEFAULT_PROFILE, PROFILE_NAMES, Family, family_of
from agentcore.kit.framework import FRAMEWORKS
from agentcore.kit.program import BadProgram
from agentcore.kit.sweeps import SWEEPS, NoSweepError, sweep_programs
from agentcore.oracle import reports
from agentcore.oracle.campaign import executors
from agentcore.oracle.campaign.check import (
    Campaign,
    Database,
    Limits,
    Plan,
    campaign,
    default_folder,
)
from agentcore.oracle.campaign.executors import Crew
from agentcore.oracle.campaign.findings import (
    Finding,
    OtherFormatError,
    UnknownFeatureError,
)
from agentcore.oracle.campaign.stop_rules import arrived
from agentcore.oracle.campaign.verdicts import PatternError
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.driver import Driver
from agentcore.oracle.reports.document import document

__all__ = ["check", "profile_for_driver", "replayed"]

_NO_VERDICT: Final = 2
# A campaign may take hours.
_PROGRESS_SECONDS: Final = 30.0
_PROGRAMS: Final = 1000
_BREACHES: Final = 10
_PROFILES: Final = (
    *dict.fromkeys(
        name.partition("/")[0]
        for framework in FRAMEWORKS.values()
        for name in framework.profiles
        if framework.has_path and "/" in name
    ),
    *PROFILE_NAMES,
)
_POSITIVE: Final = click.FloatRange(min=0, min_open=True)
_COUNT: Final = click.IntRange(min=1)


def _reports(_: click.Context, __: click.Parameter, files: tuple[Path, ...]) -> tuple[Path, ...]:
    for file in files:
        if file.suffix not in reports.SUFFIXES:
            raise click.BadParameter(
                f"{file} ends in none of {', '.join(reports.SUFFIXES)}; the ending chooses the format"
            )
    return files


_FILE: Final = click.Path(path_type=Path, dir_okay=False, writable=True)


class _TargetName(click.Choice[str]):
    """The name of a target, or of another release of its package."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the name; anything else is an error of usage."""
        try:
            targets.target_of(value)
        except targets.TargetError as error:
            self.fail(str(error), param, ctx)
        return str(value)


@click.command()
@click.option(
    "--profile",
    type=click.Choice(_PROFILES),
    help=f"Whose behaviour is expected; `{DEFAULT_PROFILE}` is that of both paths. A target has its own.",
)
@click.option(
    "--isolated",
    is_flag=True,
    help="Expect that hooks get copies, and nothing else: compare the driver with itself, without a profile.",
)
@click.option(
    "--sweep",
    type=click.Choice(tuple(SWEEPS)),
    help="Run no random programs, but those that read each field of what each hook is given (fields), or "
    "write to each object there and read every later hook (aliases).",
)
@click.option(
    "--target",
    type=_TargetName(tuple(targets.TARGETS)),
    help="A package that agentcore installs and drives. Any other release of one that npm installs may be "
    "named, such as `NAME@6.0.200`: it is held to the newest of these that is older.",
)
@click.option(
    "-n", "--programs", type=_COUNT, help="How many programs: 1000, unless --seconds says how long."
)
@click.option("--seconds", type=_POSITIVE, help="How long to run programs; the first of the two ends it.")
@click.option(
    "--seed",
    type=int,
    help="The first program's seed; the others follow. Without it, one is drawn and printed.",
)
@click.option("--jobs", type=_COUNT, default=1, show_default=True, help="Processes, each with a driver.")
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler whose workers do it instead.")
@click.option(
    "--include",
    multiple=True,
    metavar="FEATURE",
    help="Run only programs that have it; a pattern such as `op *`: one of those. Repeatable: all of them.",
)
@click.option("--exclude", multiple=True, metavar="FEATURE", help="Run no programs that have it. Repeatable.")
@click.option(
    "--only",
    multiple=True,
    metavar="PATH",
    help="Compare only what a path of the trace stands for, such as `$.steps[].prompt`. Repeatable: each.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="PATH",
    help="Do not compare what a path of the trace stands for, such as `$.final.*`. Repeatable.",
)
@click.option("--list-features", is_flag=True, help="Print the names of features, of a profile or of all.")
@click.option(
    "--max-findings",
    type=_COUNT,
    help="End at so many kinds: 1, or with --isolated print so many of all: 10.",
)
@click.option(
    "--max-failures", type=_COUNT, default=3, show_default=True, help="End when the driver failed so often."
)
@click.option(
    "--database",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="AGENTCORE_DATABASE",
    show_envvar=True,
    help="A folder for programs that were found, which are run first, and for answers that agreed, which "
    "need not be compared again; by default in your cache.",
)
@click.option("--no-database", is_flag=True, help="Use no such folder.")
@click.option(
    "--replay",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    multiple=True,
    metavar="FILE",
    help="Run the program that was saved in this file, and no random ones. Repeatable.",
)
@click.option(
    "--report",
    "report_files",
    type=_FILE,
    multiple=True,
    callback=_reports,
    metavar="FILE",
    help="Write a report: .html, .json, or .xml for JUnit's format. Repeatable.",
)
@click.option(
    "--save",
    type=_FILE,
    default=Path("disagreement.json"),
    show_default=True,
    help="Where the smallest program of the first finding is written, and the others beside it.",
)
@click.option(
    "--time-limit",
    type=_POSITIVE,
    default=20.0,
    show_default=True,
    help="Seconds a driver has for one program.",
)
@click.option(
    "--shrink-seconds",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Seconds to spend on making a program smaller.",
)
@click.argument("driver", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def check(context: click.Context, /, **given: Any) -> None:
    """Run random programs on DRIVER (`-- node driver.mjs`) or a --target, and on the reference.

    With --isolated there is no reference: each program runs with its writes and without, and what a write
    of a hook changes for anybody else is a fault.

    It stops at the first disagreement; with --max-findings N, after N different kinds. Each is made smaller,
    printed with its first difference, saved, and kept in the database for the next time.

    A driver that crashes, hangs or answers nonsense is started again, until --max-failures.

    Exits with 0 if some programs were compared and all agreed; 1 on a disagreement, whatever happens
    afterwards; 2 without a verdict: the driver failed, nothing could be compared, or the command cannot be
    understood; 128 and its number if a signal came before any verdict.
    """
    options = _Options(**given)
    if options.list_features:
        _list_features(options)
        return
    profile = _profile(options)
    if bool(options.target) == bool(options.driver):
        raise click.UsageError("name a driver after `--`, or a --target, and not both")
    if options.driver and not options.scheduler:
        require_program(options.driver)
    plan = _plan(profile, options)
    if (database := _database(options)) is not None:
        plan = attrs.evolve(plan, agreements=str(database.agreements))
    if options.target and not targets.target_of(options.target).pinned:
        warn(f"{options.target} is held to the profile {profile}.")
    try:
        plan.command()
        context.exit(_checked(plan, options))
    except (targets.TargetError, OtherFormatError, BrokenExecutor, OSError) as error:
        warn(str(error))
    context.exit(_NO_VERDICT)


@attrs.frozen(kw_only=True)
class _Options:
    profile: str | None
    isolated: bool
    sweep: str | None
    target: str | None
    programs: int | None
    seconds: float | None
    seed: int | None
    jobs: int
    scheduler: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    only: tuple[str, ...]
    ignore: tuple[str, ...]
    list_features: bool
    max_findings: int | None
    max_failures: int
    database: Path | None
    no_database: bool
    replay: tuple[Path, ...]
    report_files: tuple[Path, ...]
    save: Path
    time_limit: float
    shrink_seconds: float
    driver: tuple[str, ...]


def _profile(options: _Options) -> str:
    if options.profile:
        return options.profile
    if options.isolated and options.driver:
        return profile_for_driver(options.driver, options.time_limit)
    if not options.target:
        raise click.UsageError(f"say whose behaviour is expected: --profile, one of {', '.join(_PROFILES)}")
    return targets.target_of(options.target).profile


def _list_features(options: _Options) -> None:
    """Prints the features of the programs that are asked for; of all of them if no profile or target is."""
    if options.profile or options.target:
        _echo_features(family_of(_profile(options)))
        return
    profiles: dict[str, list[str]] = {}
    for name in _PROFILES:
        profiles.setdefault(family_of(name).name, []).append(name)
    for names in profiles.values():
        click.echo(f"# --profile {', '.join(names)}")
        _echo_features(family_of(names[0]))


def _echo_features(family: Family) -> None:
    """Prints the features of a format's programs, then what of the format no random program has."""
    click.echo("\n".join(family.feature_names))
    for choice, reason in family.never_drawn.items():
        click.echo(f"# never drawn: {choice}. {reason}")


def _plan(profile: str, options: _Options) -> Plan:
    programs = _program_count(profile, options)
    findings = options.max_findings or (_BREACHES if options.isolated else 1)
    plan = Plan(
        profile=profile,
        isolated=options.isolated,
        sweep=options.sweep,
        target=options.target,
        argv=options.driver,
        include=options.include,
        exclude=options.exclude,
        only=options.only,
        ignore=options.ignore,
        limits=Limits(programs=programs, findings=findings, failures=options.max_failures),
        time_limit=options.time_limit,
        shrink_seconds=options.shrink_seconds,
    )
    try:
        plan.selection()
    except UnknownFeatureError as error:
        raise click.UsageError(f"{error}; --list-features prints all") from None
    try:
        plan.scope()
    except PatternError as error:
        raise click.UsageError(str(error)) from None
    return plan


def _program_count(profile: str, options: _Options) -> int | None:
    """How many programs to run at most; None where only the time says when to end."""
    if options.replay:
        return 0
    if options.sweep is not None:
        try:
            count = len(sweep_programs(options.sweep, profile)) - (options.seed or 0)
        except NoSweepError as error:
            raise click.UsageError(str(error)) from None
        return max(0, count if options.programs is None else min(count, options.programs))
    return _PROGRAMS if options.programs is None and options.seconds is None else options.programs


def _first_seed(options: _Options) -> int:
    """The seed of the first program: of a sweep the first there is, else one that is drawn."""
    if options.seed is not None:
        return options.seed
    return 0 if options.sweep is not None else random.SystemRandom().randrange(2**32)


def _checked(plan: Plan, options: _Options) -> int:
    """Runs the campaign, and gives the exit code.

    Each finding is printed, saved and kept as soon as it is made, and what cannot be written is a warning:
    neither a full disk nor a folder that is not there takes a finding away, or its exit code (rule
    oracle.never-lost).
    """
    seed = _first_seed(options)
    database = _database(options)
    known = replayed(options.replay, plan.profile) if options.replay else _known(plan, database)
    printer = CheckPrinter(console=console(), plan=plan, save=options.save)
    total = plan.limits.programs
    with _crew(options) as crew, progress(every=_PROGRESS_SECONDS) as shown:

        def report(finding: Finding) -> None:
            shown.stop()
            printer.finding(finding)
            _keep(finding, plan, database)

        done = campaign(
            plan,
            first=seed,
            seconds=options.seconds,
            replayed=known,
            crew=crew,
            progress=lambda count: shown.update("programs", count, total),
            report=report,
        )
    printer.summary(done, seed=seed, jobs=crew.size)
    for file in options.report_files:
        written("the report", file, partial(_report, file, plan, done, seed, crew.size, printer.files))
    return _exit_code(done)


def _database(options: _Options) -> Database | None:
    """The one to use; none to replay single files with."""
    if options.no_database or options.replay:
        return None
    return Database(options.database or default_folder())


def _report(  # noqa: PLR0913, PLR0917 - what a report is made of
    file: Path, plan: Plan, done: Campaign, seed: int, jobs: int, saved: list[Path | None]
) -> None:
    reports.write(document(plan, done, seed=seed, jobs=jobs, files=saved), file)


def _exit_code(done: Campaign) -> int:
    stop = arrived()
    return stop.exit_code if stop and done.verdict == "no verdict" else EXIT_CODES[done.verdict]


def _keep(finding: Finding, plan: Plan, database: Database | None) -> None:
    if database is not None:
        written("the program", database.folder, partial(database.add, plan.profile, finding))


def _known(plan: Plan, database: Database | None) -> list[dict[str, Any]]:
    if database is None:
        return []
    known, problems = database.programs(plan.profile)
    for problem in problems:
        warn(problem)
    return known


def _crew(options: _Options) -> AbstractContextManager[Crew]:
    if options.scheduler:
        return _cluster(options.scheduler)
    return executors.processes(options.jobs) if options.jobs > 1 else executors.alone()


def _cluster(address: str) -> AbstractContextManager[Crew]:
    if find_spec("distributed") is None:
        raise click.UsageError("--scheduler needs the extra `dask`: pip install 'agentcore-reference[dask]'")
    return executors.cluster(address)


# What `agentcore check` is given to run: programs that were saved, and which format a driver speaks.

Json: TypeAlias = dict[str, Any]


def profile_for_driver(argv: Sequence[str], time_limit: float) -> str:
    """The profile for which programs of the driver's first known format are made.

    A driver that does not say what it runs gets programs of the default profile's format.
    """
    with Driver(argv, time_limit=time_limit) as driver:
        driver.start()
        said = driver.implementation
    formats = [] if said is None else [name for name in said.formats if name in FRAMEWORKS]
    # The check itself refuses a driver that speaks none of them.
    return FRAMEWORKS[formats[0]].default if formats else DEFAULT_PROFILE


def replayed(files: Sequence[Path], profile: str) -> list[Json]:
    """The programs of some files.

    Raises:
        click.UsageError: for a file that holds no program of the profile's format.
    """
    family = family_of(profile)
    try:
        return [family.parse(file.read_bytes()) for file in files]
    except BadProgram as error:
        raise click.UsageError(f"--replay: {printable(str(error))}") from None
