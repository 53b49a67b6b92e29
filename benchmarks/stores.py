"""What a turn costs in the stores of several libraries, in one run: `python -m benchmarks.stores URL`.

The URL is that of a PostgreSQL server, with a user that may make databases. Each store is measured on a
database of its own in a process of its own, once in each round, so that all see the same machine; figures are
medians over the rounds. Bytes are those that the server writes to its log for a turn. All turns of many
conversations at once are read back and compared.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
import psycopg
import sqlalchemy as sa

from benchmarks.install import ROOT, command, environment, version
from benchmarks.peers.keeping import CONNECTIONS, CONVERSATIONS, TURNS

# The folder under peers/, what it is, and the package that has it.
STORES: Final = {
    "own_store": ("agentcore, SqlStore", "agentcore-reference"),
    "langgraph_postgres": ("LangGraph, AsyncPostgresSaver", "langgraph-checkpoint-postgres"),
    "openai_agents_sqlalchemy": ("OpenAI Agents, SQLAlchemySession", "openai-agents"),
}
_SECONDS: Final = 1800


@click.command()
@click.argument("url")
@click.option("--store", "stores", multiple=True, type=click.Choice(tuple(STORES)), help="Only these.")
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Keep all values as JSON.")
def main(url: str, stores: Sequence[str], rounds: int, save: Path | None) -> None:
    """Measure what a turn costs in each store, on the PostgreSQL server at URL."""
    values: dict[str, list[dict[str, Any]]] = {store: [] for store in stores or STORES}
    for number in range(rounds):
        for store, each in values.items():
            click.echo(f"round {number + 1}: {store}", err=True)
            each.append(measured(store, url))
            if save:
                save.write_text(json.dumps(values, indent=1) + "\n")
    click.echo(page(values))


def measured(store: str, url: str) -> dict[str, Any]:
    """The figures of one store on a database of its own, which is dropped afterwards."""
    name = f"agentcore_bench_{store}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
        server.execute(f"CREATE DATABASE {name}".encode())
        # What was written before is on the disk, so that no store pays for another's.
        server.execute(b"CHECKPOINT")
    own = sa.make_url(url).set(database=name).render_as_string(hide_password=False)
    argv = (
        command(store) if store != "own_store" else (sys.executable, "-m", "benchmarks.peers.own_store.main")
    )
    try:
        done = subprocess.run(  # noqa: S603 - our own programs
            (*argv, own), cwd=ROOT, env=environment(), stdout=subprocess.PIPE, timeout=_SECONDS, check=True
        )
    finally:
        with psycopg.connect(url, autocommit=True) as server:
            server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def page(values: dict[str, list[dict[str, Any]]]) -> str:
    """The tables, in Markdown."""
    lines = [
        "# What a turn costs in a store",
        "",
        "| store | turns | bytes written for a turn | ms for a turn | ms to load | database, MB |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for store, rounds in values.items():
        for place, mark in enumerate(rounds[0]["long"]):
            each = [one["long"][place] for one in rounds]
            lines.append(
                f"| {_name(store)} | {mark['turns']:,} | {_median(each, 'written'):,.0f} "
                f"| {_median(each, 'milliseconds'):.1f} | {_median(each, 'load_milliseconds'):.1f} "
                f"| {_median(each, 'database') / 1e6:.1f} |"
            )
    many = f"{CONVERSATIONS} conversations at once, {TURNS} turns each, through {CONNECTIONS} connections"
    lines += [
        "",
        f"{many}; each turn is read and appended:",
        "",
        "| store | turns a second | ms, median | ms, 99 of 100 | ms of CPU | conversations lost or doubled |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for store, rounds in values.items():
        each = [one["many"] for one in rounds]
        wrong = sum(one["wrong_conversations"] for one in each)
        lines.append(
            f"| {_name(store)} | {_median(each, 'turns_a_second'):,.0f} "
            f"| {_median(each, 'median_milliseconds'):,.0f} | {_median(each, 'p99_milliseconds'):,.0f} "
            f"| {_median(each, 'processor_milliseconds'):.1f} | {wrong} of {len(each) * CONVERSATIONS} |"
        )
    return "\n".join(lines)


def _name(store: str) -> str:
    name, package = STORES[store]
    return f"{name} ({version('own' if store == 'own_store' else store, package)})"


def _median(figures: list[dict[str, float]], key: str) -> float:
    return statistics.median(one[key] for one in figures)


if __name__ == "__main__":
    main()
