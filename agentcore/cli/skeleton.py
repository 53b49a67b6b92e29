"""`agentcore skeleton`: a driver to begin with."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

import click

_FILES: Final = {"python": "driver.py", "javascript": "driver.mjs"}


@click.command()
@click.argument("language", type=click.Choice(tuple(_FILES)))
def skeleton(language: str) -> None:
    """Write a driver for an agent loop in LANGUAGE to standard output, to be filled in.

    It is one file, needs nothing else, and answers every program that it does not support it.
    """
    text = files("agentcore.skeletons").joinpath(_FILES[language]).read_text(encoding="utf-8")
    click.echo(text, nl=False)
