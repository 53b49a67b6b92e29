"""What to expect of large messages, many runs, streams, saved runs, checkpoints and checks of hooks.

`python -m benchmarks.everyday`: each case is measured at several sizes beside the peers, each time in a
process of its own, once in a round, so that all see the same machine. Figures are medians over the rounds.
The exponent is the slope of the time over the size, on logarithms, between the two largest sizes: 1 is as
much time as there is work. What a peer did is counted, and anything else is an error.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import attrs
import click

from benchmarks.install import ROOT, command, environment, version
from benchmarks.peers.everyday import STEPS
from benchmarks.table import amount, markdown

_SECONDS: Final = 120
_OVER: Final = "over the limit"


@attrs.frozen
class Peer:
    """A library: the folder under peers/, its name, its package."""

    folder: str
    name: str
    package: str

    def argv(self) -> tuple[str, ...]:
        """The command line that measures; installs the peer if it is not there. Raises InstallError."""
        if self.folder == "own":
            return (sys.executable, "-m", "benchmarks.peers.own_everyday")
        *start, program = command(self.folder)
        return (*start, program.replace(".main", ".everyday").replace("main.mjs", "everyday.mjs"))


@attrs.frozen
class Case:
    """What is measured: of a size `n` there are `n` of what `of` names, and `count(n)` is what is counted."""

    says: str
    of: str
    sizes: tuple[int, ...]
    count: Any


def _messages(steps: int) -> int:
    return 2 * steps


PEERS: Final = (
    Peer("own", "agentcore", "agentcore-reference"),
    Peer("ai_7", "ai", "ai"),
    Peer("pydantic_ai", "pydantic-ai", "pydantic-ai-slim"),
    Peer("langchain", "LangChain", "langchain"),
)
CASES: Final[Mapping[str, Case]] = {
    "large": Case(
        "a step, after an image of 1 MB and with 100 kB from the tool", "step", (10, 30, 100), _messages
    ),
    "at once": Case(
        f"a run of {STEPS} steps, so many at once", "run", (10, 100, 1000), lambda runs: runs * 2 * STEPS
    ),
    "chunks": Case(
        "a chunk of an answer, from the model to the caller", "chunk", (10, 100, 1000), lambda chunks: chunks
    ),
    "save": Case("saving as JSON, for each step", "step", (10, 100, 1000), _messages),
    "load": Case("loading that, for each step", "step", (10, 100, 1000), _messages),
    "checkpoints": Case("a step that is kept as soon as it is done", "step", (10, 30, 100), _messages),
}
# `check-hook`, ours alone: conversations of one hook, judged in a real package.
_HOOK: Final = "def hook(messages):\n    return messages[-6:]\n"
_CONVERSATIONS: Final = (30, 100, 300)
Values = dict[str, list[dict[str, Any]]]


@click.command()
@click.option("--case", "cases", multiple=True, type=click.Choice([*CASES, "check-hook"]), help="Only these.")
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Keep all values as JSON.")
def main(cases: Sequence[str], rounds: int, save: Path | None) -> None:
    """Measure the everyday cases, and print what to expect."""
    values: Values = {}
    for number in range(rounds):
        for case in cases or [*CASES, "check-hook"]:
            click.echo(f"round {number + 1}: {case}", err=True)
            for key, value in _round(case):
                values.setdefault(key, []).append(value)
            if save:
                save.write_text(json.dumps(values, indent=1) + "\n")
    click.echo(page(values))


def _round(case: str) -> list[tuple[str, dict[str, Any]]]:
    if case == "check-hook":
        return [(f"{case}/own/{size}", checked(size)) for size in _CONVERSATIONS]
    sizes = CASES[case].sizes
    return [(f"{case}/{peer.folder}/{size}", measured(peer, case, size)) for size in sizes for peer in PEERS]


def measured(peer: Peer, case: str, size: int) -> dict[str, Any]:
    """The seconds of one case on one peer, or why there are none.

    Raises ValueError if the peer did something else than it was to do.
    """
    try:
        done = subprocess.run(  # noqa: S603 - our own programs
            (*peer.argv(), case, str(size)),
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"unsupported": _OVER}
    if done.returncode:
        raise ValueError(f"{peer.name}, {case} of {size}: {done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    wanted = CASES[case].count(size)
    if "unsupported" not in answer and answer["count"] != wanted:
        raise ValueError(f"{peer.name}, {case} of {size}: {answer['count']} where {wanted} are due")
    return answer


def checked(conversations: int) -> dict[str, Any]:
    """The seconds of `agentcore check-hook` over so many conversations, and that it judged them."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "hook.py")
        file.write_text(_HOOK)
        argv = (sys.executable, "-m", "agentcore", "check-hook", f"{file}#hook", "--in", "pydantic-ai")
        more = ("--at", "history_processor", "--examples", str(conversations), "--json")
        begun = time.perf_counter()
        done = subprocess.run(  # noqa: S603 - our own command
            (*argv, *more), capture_output=True, text=True, timeout=600, check=False
        )
        seconds = time.perf_counter() - begun
    report = json.loads(done.stdout)
    if report["conversations"]["judged"] != conversations:
        raise ValueError(f"judged {report['conversations']}: {done.stderr[-2000:]}")
    return {"seconds": seconds, "count": conversations, "size": 0}


# ---------------------------------------------------------------- the page


def page(values: Values) -> str:
    """The table, in Markdown: a row for each case and peer."""
    rows: list[Sequence[str]] = []
    for case in dict.fromkeys(key.partition("/")[0] for key in values):
        says, of = (
            ("a conversation of `check-hook`, with its start", "conversation")
            if case == "check-hook"
            else (CASES[case].says, CASES[case].of)
        )
        for peer in PEERS:
            keys = [key for key in values if key.startswith(f"{case}/{peer.folder}/")]
            if keys:
                rows.append(
                    [says, _named(peer), of, *_figures({int(k.rpartition("/")[2]): values[k] for k in keys})]
                )
                says = ""
    header = ("what", "library", "for each", "small", "middle", "large", "sizes", "exponent", "bytes")
    return "# What to expect\n\n" + markdown(header, rows)


def _named(peer: Peer) -> str:
    return f"{peer.name} {version(peer.folder, peer.package)}"


def _figures(by_size: Mapping[int, Sequence[Mapping[str, Any]]]) -> list[str]:
    sizes = sorted(by_size)
    shown: list[str] = []
    seconds: dict[int, float] = {}
    for size in sizes:
        answers = by_size[size]
        if "unsupported" in answers[0]:
            shown.append(answers[0]["unsupported"])
            continue
        seconds[size] = statistics.median(each["seconds"] for each in answers)
        shown.append(amount(seconds[size] / size, "second"))
    if not seconds:
        return [shown[0], "", "", "", "", ""]
    kept = by_size[max(seconds)][0]["size"] / max(seconds)
    return [
        *shown,
        ", ".join(f"{size:,}" for size in sizes),
        _exponent(seconds),
        amount(kept, "byte") if kept else "",
    ]


def _exponent(seconds: Mapping[int, float]) -> str:
    """The slope between the two largest sizes that have a value."""
    *_, small, large = sorted(seconds) if len(seconds) > 1 else (0, 0)
    if not small:
        return ""
    return f"{math.log(seconds[large] / seconds[small]) / math.log(large / small):.2f}"


if __name__ == "__main__":
    main()
