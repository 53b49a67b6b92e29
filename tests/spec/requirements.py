"""All requirements by name: rules, differences, and what profiles decide.

A family is in the specification once it has a page there (`spec/generated/profiles`). Until then its vectors
cite claims, and show by them what its profiles decide.

Rules are members of the `Requirement` enums in modules named `rules`. A profile family is a package of
`agentcore.frameworks.ai_sdk` with a module `profiles`, whose PROFILES are values of one class: each of its
fields but `name` and `package` is a requirement, and its `decision` is the statement.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import attrs

import agentcore
from agentcore import frameworks
from agentcore.kit.framework import fields_of
from agentcore.requirements.differences import Requirement, SourcedRequirement

SPEC: Final = Path(__file__).parent.parent.parent / "spec"


@attrs.frozen(kw_only=True)
class Field:
    """A field of a profile class: the requirement, and the heading that it stands under on the page."""

    requirement: str
    name: str
    statement: str
    group: str


@attrs.frozen(kw_only=True)
class ProfileFamily:
    """The profiles of one framework, and the fields that tell them apart."""

    name: str
    title: str
    profiles: Mapping[str, Any]
    fields: tuple[Field, ...]


def _modules(package: Any, last: str) -> Iterator[Any]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if found.name.rpartition(".")[2] == last:
            yield importlib.import_module(found.name)


@cache
def rules() -> Mapping[str, Requirement]:
    """Every member of every enum of requirements."""
    assert [*_modules(agentcore, "rules")]
    assert families()  # a small framework has its rules beside its profiles
    kinds = sorted((*Requirement.__subclasses__(), *SourcedRequirement.__subclasses__()), key=_place)
    return {rule.value: rule for kind in kinds for rule in kind}


def _place(kind: type[Requirement]) -> tuple[bool, str, str]:
    # The core first; whatever was imported first.
    return kind.__module__ != "agentcore.requirements.rules", kind.__module__, kind.__qualname__


@cache
def families() -> Mapping[str, ProfileFamily]:
    """The profile families, by name."""
    found = (module for module in _modules(frameworks, "profiles") if hasattr(module, "PROFILES"))
    stated = (module for module in found if (SPEC / "generated/profiles" / f"{_name_of(module)}.md").exists())
    made = (_family(module) for module in stated)
    return {family.name: family for family in made}


def _name_of(module: Any) -> str:
    return str(module.__name__.split(".")[-2]).replace("_", "-")


def _family(module: Any) -> ProfileFamily:
    name = _name_of(module)
    profiles = module.PROFILES
    kind = type(next(iter(profiles.values())))
    title = (inspect.getdoc(kind) or name).splitlines()[0].rstrip(".")
    return ProfileFamily(name=name, title=title, profiles=profiles, fields=tuple(_fields(kind, name)))


def _fields(kind: type, family: str) -> Iterator[Field]:
    for field in fields_of(kind):
        requirement = f"{family}.{field.name.replace('_', '-')}"
        yield Field(requirement=requirement, name=field.name, statement=field.statement, group=field.group)


def statements() -> Mapping[str, str]:
    """The statement of every requirement."""
    named = {name: rule.text for name, rule in rules().items()}
    return named | {each.requirement: each.statement for one in families().values() for each in one.fields}
