"""The command `agentcore`."""

from __future__ import annotations

import click

from agentcore.cli import (
    ask,
    check,
    check_hook,
    compare,
    demo,
    examples,
    explain,
    lint_driver,
    notebooks,
    skeleton,
    trace,
    vectors,
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="agentcore-reference")
def main() -> None:
    """What an agent loop does with its messages: run it, trace it, check an implementation against it."""


_COMMANDS = (
    *(demo.demo, trace.trace, check.check, vectors.vectors, examples.examples_command),
    *(compare.compare, explain.explain, lint_driver.lint_driver, skeleton.skeleton, ask.ask),
    *(notebooks.notebooks, check_hook.check_hook),
)
for _command in _COMMANDS:
    main.add_command(_command)
