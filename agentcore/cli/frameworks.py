"""`agentcore frameworks`: which frameworks are installed."""

from __future__ import annotations

import json
from typing import Any, Final, TypeAlias

import click
from rich.console import Console

from agentcore.cli.terminal import console, say
from agentcore.kit.framework import Framework
from agentcore.kit.registry import Entry, entries

Json: TypeAlias = dict[str, Any]
_BROKEN: Final = 2


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.pass_context
def frameworks(context: click.Context, *, as_json: bool) -> None:
    """List the frameworks that are installed: profiles, packages, and the distribution that provides each.

    Exits with 2 if one of them cannot be used.
    """
    found = entries()
    if as_json:
        click.echo(json.dumps([_to_json(entry) for entry in found]))
    else:
        for entry in found:
            _print_entry(console(), entry)
    context.exit(_BROKEN if any(entry.error for entry in found) else 0)


def _print_entry(target: Console, entry: Entry) -> None:
    if entry.framework is None:
        say(target, f"{entry.name}, from {entry.provider}: broken", "red")
        say(target, f"  {entry.error}")
        return
    framework = entry.framework
    say(target, f"{entry.name} ({framework.title}), from {entry.provider}", "bold")
    say(target, f"  profiles: {', '.join(framework.profiles)}")
    say(target, f"  packages: {', '.join(_packages(framework)) or 'none'}")


def _packages(framework: Framework) -> list[str]:
    return [f"{name} ({package.package})" for name, package in framework.packages.items()]


def _to_json(entry: Entry) -> Json:
    found: Json = {"name": entry.name, "provider": entry.provider}
    if entry.framework is None:
        return {**found, "error": str(entry.error)}
    packages = {name: package.package for name, package in entry.framework.packages.items()}
    profiles = [*entry.framework.profiles]
    return {**found, "title": entry.framework.title, "profiles": profiles, "packages": packages}
