"""Examples of the specification: programs in its prose, with what is to be seen in their traces.

An example begins with a line `**Example** (names of requirements): a sentence`, without the names if it shows
no requirement, and has the fenced blocks that follow it:

- `json program`: a program without `id` and `path`, which the profile names;
- `json trace` and one or more profiles: an object of paths into the trace, and what is there;
- `json claimed` and one or more profiles: the same, but something else is there;
- `js` or `py` and one or more targets: a program of that language that uses the target's package, and after
  it, as `text`, what it writes.

A path is that of a reported difference, without `$.` (`steps[1].prompt[0].role`); an index may be negative,
`[*]` stands for every element (those that lack what follows are left out), and an array has a `length`.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.kit.compare import MISSING
from agentcore.kit.families import family_of, framework_of
from agentcore.kit.program import BadProgram
from agentcore.kit.safe_text import visible
from agentcore.messages.brief import brief
from agentcore.messages.values import canonical_json

__all__ = [
    "LANGUAGES",
    "Block",
    "Example",
    "ExampleError",
    "Expectation",
    "Mismatch",
    "Place",
    "Script",
    "blocks",
    "examples",
    "failure",
    "is_meant_by",
    "mismatches",
    "reference",
    "scripts",
    "value_at",
]

Json: TypeAlias = dict[str, Any]
Tracer: TypeAlias = Callable[[Json, str], Any]

_FENCE: Final = re.compile(r"(`{3,})(.*)")
_EXAMPLE: Final = re.compile(r"\*\*Example\*\* \(([^)]*)\)")
_KEY: Final = re.compile(r"\.?([A-Za-z_]\w*)|\[(-?\d+|\*)\]")


class ExampleError(AgentCoreError):
    """An example that cannot be run: its file and lines, and what is wrong."""


@attrs.frozen
class Block:
    """A fenced block: the words of its info string, its text, and the number of its first line."""

    __repr__ = brief

    words: tuple[str, ...]
    text: str
    line: int


@attrs.frozen(kw_only=True)
class Expectation:
    """The expected values at paths of the trace under a profile; if `claimed`, values that are not there."""

    __repr__ = brief

    profile: str
    values: Mapping[str, Any]
    claimed: bool


@attrs.frozen
class Place:
    """Where an example is: `number` counts those of its file from 1, `lines` are its first and last one."""

    file: Path
    number: int
    lines: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.file}, example {self.number} (lines {self.lines[0]} to {self.lines[1]})"


@attrs.frozen(kw_only=True)
class Example:
    """One example, and the requirements that it cites; `program` is None if its blocks are of other kinds."""

    __repr__ = brief

    place: Place
    cites: tuple[str, ...]
    program: Json | None
    expectations: tuple[Expectation, ...]
    others: tuple[Block, ...]

    def on(self, profile: str) -> Json:
        """The program as it is run under a profile. Raises ExampleError if it is not a program."""
        family = family_of(profile)
        # Where only some of a family's profiles are paths, the others run a program the same on each.
        paths = [name.rpartition("/")[2] for name in (profile, *family.profiles) if "/" in name]
        path = {"path": paths[0]} if paths and framework_of(profile).has_path else {}
        program = {"id": f"{self.place.file.name}#{self.place.number}", **path, **(self.program or {})}
        try:
            family.require(program)
        except BadProgram as error:
            raise ExampleError(f"{self.place}: {error}") from None
        return program


@attrs.frozen(kw_only=True)
class Script:
    """A program in a language, the targets whose package it uses, and what it writes."""

    __repr__ = brief

    example: Example
    language: str
    targets: tuple[str, ...]
    source: str
    output: str


@attrs.frozen(kw_only=True)
class Mismatch:
    """A place of a trace that differs from what its example states."""

    __repr__ = brief

    example: Example
    profile: str
    path: str
    expected: Any
    found: Any
    claimed: bool

    def __str__(self) -> str:
        head = f"{self.example.place}: {self.profile}: {self.path}"
        if self.claimed:
            return f"{head} is what was claimed, {_text_of(self.found)}"
        return f"{head}\n  expected {_text_of(self.expected)}\n  found    {_text_of(self.found)}"


def _text_of(value: Any) -> str:
    return "nothing" if value is MISSING else json.dumps(value)


# ---------------------------------------------------------------- reading


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a markdown text."""
    fence = ""
    words: tuple[str, ...] = ()
    begun, lines = 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        found = _FENCE.fullmatch(line)
        if fence and line == fence:
            yield Block(words, "".join(f"{each}\n" for each in lines), begun)
            fence = ""
        elif fence:
            lines.append(line)
        elif found:
            fence, words, begun, lines = found[1], tuple(found[2].split()), number, []


def examples(file: Path) -> Iterator[Example]:
    """The examples of a file, in order.

    Raises:
        ExampleError: for one that cannot be read, with its file and lines.
    """
    text = file.read_text(encoding="utf-8")
    heads = [*_heads(text)]
    ends = [*(line for line, _ in heads), len(text.splitlines()) + 1][1:]
    every = [*blocks(text)]
    for number, ((line, cites), end) in enumerate(zip(heads, ends, strict=False), 1):
        own = [block for block in every if line < block.line < end]
        last = max((block.line + block.text.count("\n") + 1 for block in own), default=line)
        yield _example(Place(file, number, (line, last)), cites, own)


def _heads(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    fenced = {
        number
        for block in blocks(text)
        for number in range(block.line, block.line + block.text.count("\n") + 2)
    }
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith("**Example**") and number not in fenced:
            # The names may go on on the next lines.
            found = _EXAMPLE.match(" ".join(lines[number - 1 : number + 4]))
            yield number, tuple(re.findall(r"`([^`]+)`", found[1])) if found else ()


def _example(place: Place, cites: tuple[str, ...], own: Sequence[Block]) -> Example:
    programs = [block for block in own if block.words[:2] == ("json", "program")]
    expected = [block for block in own if block.words[:2] in (("json", "trace"), ("json", "claimed"))]
    others = [block for block in own if block not in programs and block not in expected]
    if len(programs) != bool(expected):
        raise ExampleError(f"{place}: an example has one program if it has a trace, and none without")
    return Example(
        place=place,
        cites=cites,
        program=_parsed(programs[0], place) if programs else None,
        expectations=tuple(each for block in expected for each in _expectations(block, place)),
        others=tuple(others),
    )


def _expectations(block: Block, place: Place) -> Iterator[Expectation]:
    values = _parsed(block, place)
    _, kind, *profiles = block.words
    if not profiles or not values:
        raise ExampleError(f"{place}: line {block.line} names no profile, or its block no path")
    for profile in profiles:
        yield Expectation(profile=profile, values=values, claimed=kind == "claimed")


def _parsed(block: Block, place: Place) -> Json:
    try:
        value = json.loads(block.text)
    except ValueError as error:
        raise ExampleError(f"{place}: the block of line {block.line} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ExampleError(f"{place}: the block of line {block.line} is no object")
    return value


def scripts(example: Example, languages: Collection[str] = ("js", "py")) -> Iterator[Script]:
    """The programs of an example that are written in one of the languages."""
    for block, after in zip(example.others, [*example.others[1:], None], strict=False):
        if block.words and block.words[0] in languages:
            output = after.text if after is not None and after.words == ("text",) else ""
            language, *targets = block.words
            yield Script(
                example=example,
                language=language,
                targets=tuple(targets),
                source=block.text,
                output=output,
            )


# ---------------------------------------------------------------- running


def reference(program: Json, profile: str) -> Any:
    """The trace that the reference gives, as plain JSON."""
    return json.loads(json.dumps(family_of(profile).trace(program, profile)))


def is_meant_by(name: str, profile: str) -> bool:
    """True if a profile has this name, or is for a path of it; always True without a name."""
    return not name or profile == name or profile.startswith(f"{name}/")


def mismatches(example: Example, trace: Tracer = reference, *, profiles: str = "") -> Iterator[Mismatch]:
    """What is not as the example says, of expectations whose profile `is_meant_by` the name `profiles`.

    Raises:
        ExampleError: if it has no program, or an invalid path.
    """
    traces: dict[str, Any] = {}
    for expected in example.expectations:
        profile = expected.profile
        if not is_meant_by(profiles, profile):
            continue
        if profile not in traces:
            traces[profile] = trace(example.on(profile), profile)
        for path, value in expected.values.items():
            try:
                found = value_at(traces[profile], path)
            except ExampleError as error:
                raise ExampleError(f"{example.place}: {error}") from None
            if _same(found, value) is expected.claimed:
                yield Mismatch(
                    example=example,
                    profile=profile,
                    path=path,
                    expected=value,
                    found=found,
                    claimed=expected.claimed,
                )


def _same(found: Any, expected: Any) -> bool:
    return found is not MISSING and canonical_json(found) == canonical_json(expected)


def value_at(trace: Any, path: str) -> Any:
    """Returns the value at a path of a trace; MISSING if there is nothing.

    Raises:
        ExampleError: if it is no path.
    """
    keys = [*_KEY.finditer(path)]
    if "".join(key[0] for key in keys) != path:
        raise ExampleError(f"{path} is no path")
    return _below(trace, [key[1] or key[2] for key in keys])


def _below(value: Any, keys: Sequence[str]) -> Any:
    """Returns the value below a value; MISSING if there is nothing."""
    if not keys or value is MISSING:
        return value
    first, *others = keys
    if isinstance(value, dict):
        return _below(value.get(first, MISSING), others)
    if not isinstance(value, list):
        return MISSING
    if first == "*":
        return [found for each in value if (found := _below(each, others)) is not MISSING]
    if first == "length":
        return len(value)
    index = int(first) if first.lstrip("-").isdigit() else len(value)
    return _below(value[index], others) if -len(value) <= index < len(value) else MISSING


# Runs programs of examples that are written in another language, with the package of a target.

# How the interpreter of a target's driver is told to read a program from its input.
LANGUAGES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"js": ("--input-type=module", "-"), "py": ("-",)}
)
_SECONDS: Final = 60.0
_SHOWN: Final = 2000


def failure(script: Script, command: Sequence[str], *, seconds: float = _SECONDS) -> str:
    """Runs a program and compares what it writes to standard output with what its example shows.

    Args:
        script: The program; its language is one of LANGUAGES.
        command: The command line of the target's driver (`targets.command`). The program is run by the same
            interpreter in the same folder, so that it finds the same package.
        seconds: How long the program may take.

    Returns:
        What is wrong, with the place of the example, or an empty text if the output is as shown and the exit
        code is 0.
    """
    *interpreter, driver = command
    place = script.example.place
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter of a target, with the text that was named
            [*interpreter, *LANGUAGES[script.language]],
            cwd=Path(driver).parent,
            input=script.source,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{place}: the program did not end within {seconds:g} seconds"
    if done.stdout == script.output and not done.returncode:
        return ""
    ended = f"\nand ended with exit code {done.returncode}" if done.returncode else ""
    wrote = visible(f"{done.stdout}{done.stderr[-_SHOWN:]}")
    return f"{place}: the program wrote\n{wrote}{ended}\nwhere its example shows\n{script.output}"
