"""Who holds what: whose objects a context has, and who shares objects after a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import places
from places import MISSING, Place

if TYPE_CHECKING:
    from run import Run

Json = dict[str, Any]


def held(run: Run) -> dict[int, Any]:
    """All objects of the agent and of the caller, by their id()."""
    agent = run.agent
    found: dict[int, Any] = {}
    for shape, native in [
        (places.MESSAGES, agent.messages),
        (places.SYSTEM, agent._system_prompt_content),
        (places.SPECS, run.own_specs()),
        (places.JSON, agent._model_state),
        (places.MESSAGES, run.messages),
        (places.SYSTEM, run.system),
        *((places.INPUT, given) for given in run.inputs),
        (places.STATE, run.state),
    ]:
        found.update(places.objects_of(Place(shape, native), []))
    return found


def identity(run: Run, root: Place) -> Json:
    """Of every field of a context or a result whether it is one of these objects, or holds some."""
    known = held(run)
    return {name: _held_in(name, root.shape.step(root.native, name), known) for name in root.native}


def _held_in(name: str, place: Place | None, known: dict[int, Any]) -> Json:
    native = MISSING if place is None else place.native
    if native is MISSING or (native is None and name == "system"):
        return {"mode": "absent"}
    if not isinstance(native, (dict, list)):
        return {"mode": "value"}
    # Nothing outside the loop holds the tool choice that it forces.
    if name == "toolChoice":
        return {"mode": "unknown"}
    if id(native) in known:
        return {"mode": "share"}
    paths = [path for path, _ in places.shared(place, [name], known)]
    return {"mode": "shallow", "paths": paths} if paths else {"mode": "deep"}


def aliases(run: Run, outcomes: list[Any]) -> Json:
    """Which objects of one are objects of the other."""
    history = Place(places.MESSAGES, run.agent.messages)
    known = places.objects_of(history, [])
    inputs: dict[int, Any] = {}
    for index, given in enumerate(run.inputs):
        inputs = places.objects_of(Place(places.INPUT, given), [index]) | inputs
    last = [
        pair
        for index, outcome in enumerate(outcomes)
        if not isinstance(outcome, Exception)
        for pair in places.shared(Place(places.MESSAGE, outcome.message), [index], known)
    ]
    config = places.objects_of(Place(places.MESSAGES, run.messages), [])
    return {
        "historyAndConfig": places.shared(history, [], config),
        "historyAndInput": places.shared(history, [], inputs),
        "resultAndHistory": last,
        "resultStateAndCaller": [],
    }
