"""A framework as one value, all that the rest of the package knows of it; and those that are installed.

The value is read wherever names are listed, so it holds names and small data. What takes long to import (the
format, the emulation) is named by its place and imported when it is used first.

Frameworks are found by the entry points of the group `agentcore.frameworks`. Each names a `Framework` value;
those of this distribution are found as those of any other. One that cannot be used has an error of its own
and leaves the others as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from agentcore.errors import AgentCoreError

if TYPE_CHECKING:
    from agentcore.kit.families import Family

__all__ = [
    "FRAMEWORKS",
    "GROUP",
    "IDENTITY",
    "PACKAGES",
    "BrokenFrameworkError",
    "Entry",
    "Field",
    "Framework",
    "Package",
    "UnknownFrameworkError",
    "decision",
    "entries",
    "fields_of",
    "flipped",
    "load_contracts",
    "load_emulator",
    "load_family",
    "words_of",
]


@attrs.frozen(kw_only=True)
class Package:
    """A real package that can be driven, and how.

    `profile` is what it is expected to do (`name-6` for both paths of that), `package` its name and version.
    The driver is in the subfolder named "package" of the Python package that `source` names. `folder`,
    below that, holds what starts the driver and what pins the package for `installer`: for npm
    `driver.mjs`, `package.json`, `package-lock.json` and `.npmrc`; for pip `driver.py` and
    `requirements.txt`. Both pin all there is to install, by the hashes of its files and by no address.
    `files` are more files of the driver, beside `folder`, and `shared` are files of
    `agentcore/kit/drivers`; other packages may have both kinds too. Where the package is installed, all
    of them lie as they are named here, beside each other. `pinned` is false for a release that no file
    pins: what npm finds for it when it is installed first is kept.
    """

    profile: str
    package: str
    source: str
    folder: str
    files: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    installer: Literal["npm", "pip"] = "npm"
    pinned: bool = True


# One for each: the plugin of mypy knows no converter that is generic.
def _read_only_texts(given: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType({**given})


def _read_only_packages(given: Mapping[str, Package]) -> Mapping[str, Package]:
    return MappingProxyType({**given})


@attrs.frozen(kw_only=True)
class Framework:
    """A framework that the oracle knows.

    `name` is that of its program format, in the driver protocol and in the entry point; `title` is its name
    for people. `profiles` has its profiles by name, each with what it is, in Markdown. `default` is the
    profile that its programs are run under if none is named (the first, unless it is given; for a profile
    with paths, the part before the path). `family` is the place of its `Family`, as `module:name`, and
    `emulator` that of the function `run(profile, settings)`; None if there is none. `contracts` is that of a
    sequence of `Emulated` values, by which the contracts of profiles are measured; None if there is none.
    `packages` are the real packages, by the names that `agentcore check --target` takes; a framework may have
    none. `has_path` says whether a profile `name/path` is for the programs whose field `path` says so; if
    not, a name with a slash is only a name.
    """

    name: str
    title: str
    profiles: Mapping[str, str] = attrs.field(converter=_read_only_texts)
    family: str
    emulator: str | None = None
    contracts: str | None = None
    packages: Mapping[str, Package] = attrs.field(factory=dict, converter=_read_only_packages)
    has_path: bool = True
    default: str = attrs.field()

    @default.default
    def _first(self) -> str:
        return next(iter(self.profiles))


# ---------------------------------------------------------------- those that are installed

GROUP: Final = "agentcore.frameworks"


class BrokenFrameworkError(AgentCoreError, LookupError):
    """An entry point gives no framework: `framework` is its name, `provider` the distribution that has it.

    `reason` says what is wrong, and what to do.
    """

    def __init__(self, framework: str, provider: str, reason: str) -> None:
        super().__init__(f"the framework {framework!r} of {provider} cannot be used: {reason}")
        self.framework = framework
        self.provider = provider
        self.reason = reason


class UnknownFrameworkError(AgentCoreError, KeyError):
    """No entry point has a framework of this name."""

    def __init__(self, framework: str, known: tuple[str, ...]) -> None:
        self.text = f"no framework is named {framework!r}; there are {', '.join(known)}"
        super().__init__(self.text)
        self.framework = framework

    def __str__(self) -> str:
        # KeyError shows its argument as Python writes it.
        return self.text


@attrs.frozen
class Entry:
    """An entry point: the framework that it gives, or why it gives none.

    `provider` is the name and version of the distribution that declares it.
    """

    name: str
    provider: str
    framework: Framework | None
    error: BrokenFrameworkError | None = None

    def broken(self, reason: str) -> Entry:
        """The entry without its framework."""
        return Entry(self.name, self.provider, None, BrokenFrameworkError(self.name, self.provider, reason))


# ---------------------------------------------------------------- finding


@cache
def entries() -> tuple[Entry, ...]:
    """All entry points of the group, by name; read once."""
    # Sorted: the order of entry points is that of the folders on the path, and lists of frameworks must not
    # depend on it.
    found = sorted(entry_points(group=GROUP), key=lambda point: (point.name, _provider(point)))
    return _distinct([_loaded(point) for point in found])


def _provider(point: EntryPoint) -> str:
    dist = point.dist
    return "an unnamed distribution" if dist is None else f"{dist.name} {dist.version}"


def _loaded(point: EntryPoint) -> Entry:
    entry = Entry(point.name, _provider(point), None)
    try:
        value = point.load()
    except Exception as error:  # noqa: BLE001 - code of others; one that fails must not stop the others
        return entry.broken(f"{point.value} cannot be imported: {type(error).__name__}: {error}")
    if not isinstance(value, Framework):
        return entry.broken(f"{point.value} is of type {type(value).__name__}; make it an {_KIND}")
    if value.name != point.name:
        return entry.broken(f"the value is named {value.name!r}; give the entry point the same name")
    if problem := _problem(value):
        return entry.broken(problem)
    return attrs.evolve(entry, framework=value)


_KIND: Final = f"{Framework.__module__}.{Framework.__qualname__}"


def _problem(framework: Framework) -> str | None:
    """Returns the first contradiction in a framework's description, if any."""
    under = {part for name in framework.profiles for part in (name, name.partition("/")[0])}
    if framework.default not in under:
        return f"the default {framework.default!r} is none of its profiles"
    for name, package in framework.packages.items():
        if package.profile not in under:
            return f"the package {name!r} has the unknown profile {package.profile!r}"
    return None


def _distinct(found: list[Entry]) -> tuple[Entry, ...]:
    """The entries, without the frameworks that claim a name which another claims too.

    None of them is preferred: which one is meant cannot be known, and a choice would hide the clash.
    """
    claims = Counter(claim for entry in found for claim in _claims(entry))
    return tuple(_unless_claimed(entry, found, claims) for entry in found)


def _claims(entry: Entry) -> Iterator[tuple[str, str]]:
    yield "name", entry.name
    if entry.framework is not None:
        yield from (("profile", name) for name in entry.framework.profiles)
        yield from (("package", name) for name in entry.framework.packages)


def _unless_claimed(entry: Entry, found: list[Entry], claims: Mapping[tuple[str, str], int]) -> Entry:
    for claim in () if entry.error else _claims(entry):
        if claims[claim] > 1:
            others = [other.provider for other in found if other is not entry and claim in _claims(other)]
            kind, name = claim
            return entry.broken(f"the {kind} {name!r} is also that of {', '.join(others)}; uninstall one")
    return entry


# ---------------------------------------------------------------- what is found


class _Frameworks(Mapping[str, Framework]):
    """The frameworks by name, broken ones left out."""

    def __getitem__(self, name: str) -> Framework:
        for entry in entries():
            if entry.name == name:
                if entry.error is not None:
                    raise entry.error
                if entry.framework is not None:
                    return entry.framework
        raise UnknownFrameworkError(name, tuple(self))

    def __iter__(self) -> Iterator[str]:
        return (entry.name for entry in entries() if entry.framework is not None)

    def __len__(self) -> int:
        return sum(entry.framework is not None for entry in entries())

    def __contains__(self, name: object) -> bool:
        return any(name == known for known in self)


FRAMEWORKS: Final[Mapping[str, Framework]] = _Frameworks()
"""The frameworks by name. Looking up one that is broken raises BrokenFrameworkError."""


def load_family(name: str) -> Family:
    """The format of a framework's programs; imported when it is asked for first.

    Raises:
        UnknownFrameworkError: if there is no such framework.
        BrokenFrameworkError: if the format cannot be imported.
    """
    found: Family = _resolved(name, FRAMEWORKS[name].family)
    return found


def load_emulator(name: str) -> Callable[[Any, Any], Any]:
    """The function that runs a framework's settings under a profile; imported when it is asked for first.

    Raises:
        UnknownFrameworkError: if there is no such framework.
        BrokenFrameworkError: if the framework has no emulation, or it cannot be imported.
    """
    found: Callable[[Any, Any], Any] = _resolved(name, FRAMEWORKS[name].emulator or "")
    return found


def load_contracts(name: str) -> Sequence[Any]:
    """Returns the `Emulated` values of a framework, none if it offers none; imported when asked for first.

    Raises:
        UnknownFrameworkError: if there is no such framework.
        BrokenFrameworkError: if they cannot be imported.
    """
    place = FRAMEWORKS[name].contracts
    found: Sequence[Any] = () if place is None else _resolved(name, place)
    return found


def _resolved(name: str, place: str) -> Any:
    try:
        return resolve_name(place)
    except Exception as error:
        (provider,) = (entry.provider for entry in entries() if entry.name == name and entry.framework)
        reason = f"{place!r} cannot be imported: {type(error).__name__}: {error}"
        raise BrokenFrameworkError(name, provider, reason) from error


class _Packages(Mapping[str, Package]):
    """The real packages of all frameworks."""

    def __getitem__(self, name: str) -> Package:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Package]:
        return {name: each for one in FRAMEWORKS.values() for name, each in one.packages.items()}


PACKAGES: Final[Mapping[str, Package]] = _Packages()
"""The real packages of all frameworks, by the names that `agentcore check --target` takes."""


IDENTITY: Final = ("name", "package")
"""The fields that name a profile and decide nothing."""
_KEY: Final = "agentcore.decision"
"""Where `decision` keeps what it was given, in the metadata of a field."""


@attrs.frozen(kw_only=True)
class Field:
    """A field of a profile class: its name, what it decides, and its heading on pages."""

    name: str
    statement: str
    group: str


@attrs.frozen
class _Decision:
    """The arguments of `decision`."""

    sentence: str
    heading: str | None


_UNDECIDED: Final = _Decision("", None)


def decision(sentence: str, *, heading: str | None = None) -> Mapping[str, Any]:
    """Says what a field of a profile decides: `attrs.field(metadata=decision("Whether ... ."))`.

    Args:
        sentence: What the field decides; it ends in a full stop, and is the statement of the requirement.
        heading: On pages, the heading of this field and of those after it, up to the next one with a heading.

    Returns:
        The metadata of an attrs field, which `fields_of` reads.

    Raises:
        ValueError: The sentence does not end in a full stop.
    """
    if not sentence.endswith("."):
        raise ValueError(f"what a field decides is a sentence and ends in a full stop: {sentence!r}")
    return {_KEY: _Decision(sentence, heading)}


def fields_of(kind: type) -> tuple[Field, ...]:
    """Returns the fields of a profile class but those that name it, in order.

    Args:
        kind: A class made by attrs. A field without a `decision` has an empty statement.

    Returns:
        The fields, inherited ones first.
    """
    return tuple(_fields(kind))


def _fields(kind: type) -> Iterator[Field]:
    heading = ""
    for attribute in attrs.fields(kind):
        decided = attribute.metadata.get(_KEY, _UNDECIDED)
        heading = heading if decided.heading is None else decided.heading
        if attribute.name not in IDENTITY:
            yield Field(name=attribute.name, statement=decided.sentence, group=heading)


def words_of(value: Any) -> str:
    """Returns a field's value in words, as markdown."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return value.value if isinstance(value.value, str) else value.name.lower()
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {words_of(item)}" for key, item in value.items())
    if isinstance(value, tuple):
        return ", ".join(f"`{item}`" for item in value)
    return str(value)


# Profiles in which one thing is decided otherwise: what shows a decision tells such a profile apart.


def flipped(profile: Any, field: str, profiles: Iterable[Any]) -> Iterator[Any]:
    """The profile with each other value of a field: of a bool and an enum all, else those of `profiles`."""
    for other in _others(getattr(profile, field), [getattr(each, field) for each in profiles]):
        try:
            yield attrs.evolve(profile, **{field: other})
        except ValueError:  # no value for this field
            continue


def _others(value: Any, known: list[Any]) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, Enum):
        yield from (each for each in type(value) if each is not value)
    else:
        yield from _mixed(value, known) if attrs.has(type(value)) else ()
        yield from (each for index, each in enumerate(known) if each != value and each not in known[:index])


def _mixed(value: Any, known: list[Any]) -> Iterator[Any]:
    """The value with one of its own fields as another profile has it."""
    for other in known:
        for part in attrs.fields(type(value)) if type(other) is type(value) else ():
            if getattr(other, part.name) != getattr(value, part.name):
                yield attrs.evolve(value, **{part.name: getattr(other, part.name)})
