"""`agentcore notebooks`: the pollution notebooks, to read and to change."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from agentcore.cli.terminal import console, say

_FAILURE: Final = 2


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("agentcore-notebooks"),
    show_default=True,
    help="Where the notebooks are copied to. What is there already is left as it is.",
)
@click.option("--copy-only", is_flag=True, help="Copy the notebooks, and open nothing.")
@click.pass_context
def notebooks(context: click.Context, *, folder: Path, copy_only: bool) -> None:
    """Copy the notebooks to a folder and open them in JupyterLab (the extra `notebooks`).

    Exits with 2 where JupyterLab is not installed, else as JupyterLab does.
    """
    out = console()
    for title in _copied(folder):
        say(out, title)
    say(out, f"The notebooks are in {folder}.")
    if copy_only:
        return
    if find_spec("jupyterlab") is None:
        missing = "JupyterLab is not installed: pip install 'agentcore-reference[notebooks]'"
        say(console(stderr=True), missing, "red")
        context.exit(_FAILURE)
    done = subprocess.run([sys.executable, "-m", "jupyterlab", str(folder)], check=False)  # noqa: S603
    context.exit(done.returncode)


def _copied(folder: Path) -> list[str]:
    """The titles of the notebooks, which are copied to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    titles = []
    with as_file(files("agentcore") / "notebooks") as source:
        for file in sorted(source.glob("*.ipynb")):
            if not (folder / file.name).exists():
                shutil.copyfile(file, folder / file.name)
            first = json.loads(file.read_text(encoding="utf-8"))["cells"][0]["source"]
            titles.append("".join(first).partition("\n")[0].removeprefix("# "))
    return titles
