"""One function runs the emulation of every framework, by the name of a profile or by a profile itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs
import pytest

from agentcore.errors import AgentCoreError
from agentcore.frameworks import ai_sdk, mastra, store_boundary, strands
from agentcore.kit import emulate
from agentcore.kit.emulate import NotEmulatedProfileError
from agentcore.kit.families import FAMILIES, UnknownProfileError
from kit.installed import installed
from oracle import toy_family

Json = dict[str, Any]


def appends(argument: Any) -> None:
    """A hook of the AI SDK that writes in place."""
    argument["messages"].append({"role": "user", "content": "and this"})


def of_ai_sdk() -> ai_sdk.Settings:
    return ai_sdk.Settings(
        messages=[{"role": "user", "content": "hi"}],
        model=ai_sdk.Model(id="m", answer=lambda _: [{"type": "text", "text": "ok"}]),
        hooks=ai_sdk.Hooks(prepare_step=appends),
    )


def of_mastra() -> mastra.Settings:
    return mastra.Settings(messages=["hi"], model=mastra.Model(id="m", answer=lambda _: [MASTRA_TEXT]))


def of_strands() -> strands.Settings:
    return strands.Settings(
        inputs=("hi",), model=strands.Model(answer=lambda _: strands.Said(blocks=[{"text": "ok"}]))
    )


def of_store_boundary() -> store_boundary.Settings:
    turn = store_boundary.Turn(
        agent="A",
        given=[{"role": "user", "content": "hi"}],
        answers=[[{"role": "assistant", "content": "ok"}]],
    )
    return store_boundary.Settings(turns=[turn])


MASTRA_TEXT: Final[Json] = {"type": "text", "text": "ok"}
RUNS: Final[dict[str, tuple[Any, Callable[[], Any]]]] = {
    "ai-sdk": (ai_sdk.run, of_ai_sdk),
    "mastra": (mastra.run, of_mastra),
    "store-boundary": (store_boundary.run, of_store_boundary),
    "strands": (strands.run, of_strands),
}
PROFILES: Final = [
    (name, profile)
    for name, family in FAMILIES.items()
    for profile in family.emulation.profiles  # type: ignore[union-attr]
]


def shown(ran: Any) -> Any:
    """What tells a run from another: what the model read, and what was written."""
    return ran.profile, ran.prompts, ran.pollution, [one.moment for one in ran.snapshots]


@pytest.mark.parametrize(("name", "profile"), PROFILES)
def test_a_run_is_that_of_the_frameworks_own_function(name: str, profile: str) -> None:
    own, settings = RUNS[name]
    ran = emulate.run(profile, settings())
    assert type(ran) is type(own(profile, settings()))
    assert shown(ran) == shown(own(profile, settings()))
    assert len(ran.prompts) == 1


@pytest.mark.parametrize("name", RUNS)
def test_a_profile_of_ones_own_is_run_by_the_framework_whose_class_it_has(name: str) -> None:
    _, settings = RUNS[name]
    emulation = FAMILIES[name].emulation
    assert emulation is not None
    mine = attrs.evolve(next(iter(emulation.profiles.values())), name="mine")
    assert emulate.run(mine, settings()).profile is mine


def test_every_write_is_watched() -> None:
    (finding,) = emulate.run("ai-sdk-6/stream", of_ai_sdk()).pollution
    assert finding.write.hook == "prepareStep"


def test_what_no_framework_emulates_is_an_error_that_says_what_there_is() -> None:
    with pytest.raises(UnknownProfileError):
        emulate.run("ai-sdk-5/stream", None)
    with pytest.raises(NotEmulatedProfileError, match="'immutable' is not emulated; there are ai-"):
        emulate.run("immutable", of_ai_sdk())
    with pytest.raises(NotEmulatedProfileError, match="no framework has profiles of the class int") as caught:
        emulate.run(6, of_ai_sdk())
    assert isinstance(caught.value, AgentCoreError)
    with (
        installed(toy_family.ENTRY),
        pytest.raises(NotEmulatedProfileError, match="'toy-1' is not emulated; Toy has no emulation"),
    ):
        emulate.run("toy-1", None)
