"""The command `agentcore`."""

from __future__ import annotations

import click

from agentcore.cli.check import check
from agentcore.cli.demo import demo
from agentcore.cli.trace import trace
from agentcore.cli.vectors import vectors


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="agentcore-reference")
def main() -> None:
    """What an agent loop does with its messages: run it, trace it, check an implementation against it."""


for _command in (demo, trace, check, vectors):
    main.add_command(_command)
