"""The places at which a hook can write into what it is given, found without knowledge of the framework.

Each text of the probe's conversation is unlike all others, so a container is known by the texts below it.
Runs under the interpreter of the framework: standard library only. The rules are those of `js/src/places.js`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias

from agentcore.guard.reading import Contents, Reader, Unread
from agentcore.guard.snapshot import Step, slots
from agentcore.live.copies import Data, Exchange
from agentcore.live.shown import show

__all__ = [
    "Objects",
    "Place",
    "Scene",
    "Shape",
    "Text",
    "Texts",
    "Undone",
    "Walk",
    "made",
    "of_side",
    "shape_of",
    "write",
]

_INSIDE: Final = frozenset({"message", "part", "content"})
_SLOTS: Final = frozenset({"list", "message", "content", "part", "input", "output", "text"})
_MOST_NODES: Final = 20_000
_MANY: Final = frozenset({"list", "records"})

Shape: TypeAlias = frozenset[str] | type


@dataclass(frozen=True)
class Text:
    """Where a text of the conversation comes from.

    Attributes:
        owner: `instructions`, `caller`, `request` (the caller's last message) or `run`.
        role: the role of its message; `tool` for an output.
        kind: `text`, or `input` or `output` of a call.
        call: the call of an input or output.
    """

    owner: str
    role: str
    kind: str = "text"
    call: str | None = None


class Texts:
    """The texts of a conversation's first turn, and the ids of its calls."""

    def __init__(self, conversation: Mapping[str, Any]) -> None:
        self.known = {conversation["instructions"]: Text("instructions", "system")}
        self.payloads: dict[str, Mapping[str, Any]] = {}
        turn = conversation["turns"][0]
        last = len(turn["messages"]) - 1
        for index, message in enumerate(turn["messages"]):
            self._add(message["parts"], "request" if index == last else "caller", message["role"])
        for answer in turn["answers"]:
            self._add(answer["parts"], "run", "assistant")
        self._pattern = re.compile("|".join(self.known))
        self._order = {text: index for index, text in enumerate(self.known)}

    def _add(self, parts: Iterable[Mapping[str, Any]], owner: str, role: str) -> None:
        for part in parts:
            if part["type"] != "call":
                self.known[part["text"]] = Text(owner, role)
                continue
            self.payloads[part["id"]] = part
            self._add_below(part["input"], Text(owner, role, "input", part["id"]))
            self._add_below(part["output"], Text(owner, "tool", "output", part["id"]))

    def _add_below(self, value: Any, of: Text) -> None:
        if isinstance(value, str):
            self.known[value] = of
        else:
            for each in value.values() if isinstance(value, dict) else value:
                self._add_below(each, of)

    def first(self, texts: Iterable[str]) -> Text:
        """Returns where the one is from that comes first in the conversation, in whatever order they are."""
        return self.known[min(texts, key=self._order.__getitem__)]

    def found_in(self, value: str) -> list[str]:
        """Returns the texts that a string has in it."""
        return self._pattern.findall(value)


def shape_of(message: Any) -> Shape:
    """Returns what messages of a kind have in common: the names of a dict's keys, or the class."""
    return frozenset(message) if isinstance(message, dict) else type(message)


def copy_of(value: Any, kept: frozenset[int]) -> Any:
    """Returns a deep copy, made without running code of the objects."""
    return Exchange().enter(value, kept)


def text_of(value: Any, drop: Collection[str]) -> str:
    """Returns a value as text, made without running code of the objects."""
    return repr(show(value, Data(), drop))


@dataclass(frozen=True)
class Objects:
    """How objects are read and copied.

    Attributes:
        reader: returns the reader of all objects but those with some numbers.
        copied: returns a deep copy of a value, in which these objects stay themselves.
        dicts: the classes of what is used as a dict is.
        lists: those of what is used as a list is.
        text: returns a value as text without attributes of some names, to look for the mark in.
        written: whether an object that was found is the one that was written there.
    """

    reader: Callable[[frozenset[int]], Reader] = Data
    copied: Callable[[Any, frozenset[int]], Any] = copy_of
    dicts: tuple[type[Any], ...] = (dict,)
    lists: tuple[type[Any], ...] = (list, tuple)
    text: Callable[[Any, Collection[str]], str] = text_of
    written: Callable[[Any, Any], bool] = operator.is_


@dataclass(frozen=True)
class Scene:
    """What places are known by, and what is written there.

    Attributes:
        mark: the text that is written.
        texts: the texts of the conversation.
        shapes: those of the caller's messages.
        objects: how they are read.
    """

    mark: str
    texts: Texts
    shapes: Sequence[Shape]
    objects: Objects = field(default_factory=Objects)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place, and what is written there.

    Attributes:
        root: the way to the outermost list or message, without indices.
        owner: whose text is there; empty for lists of messages of several.
        role: the role of its message, likewise.
        place: a key of `places` in `schemas/places.json`.
        act: a key of `acts` there.
        keys: the way there: the name of the argument, then steps.
        name: the same as text.
        target: the slot that is written: the same for all ways that lead to the same one of the same object.
        side: where the way begins: `given`, `handle`, `result`, `returned`, `passed` or `delta`.
    """

    root: str
    owner: str
    role: str
    place: str
    act: str
    keys: tuple[Any, ...]
    name: str
    target: tuple[int, Any, str]
    side: str = "given"


@dataclass
class _Node:
    value: Any
    name: str
    keys: tuple[Any, ...]
    parent: _Node | None
    step: Step | None = None
    kind: str = ""
    general: str = ""
    root: str = ""
    inside: bool = False
    texts: list[str] = field(default_factory=list)
    contents: Contents = field(default_factory=Contents)


class Walk:
    """Looks through values, and lists the places."""

    def __init__(self, roots: Iterable[tuple[str, Any]], scene: Scene, kept: frozenset[int]) -> None:
        """Looks through values.

        Args:
            roots: names and values; a value without a name is known by what it holds.
            scene: what places are known by.
            kept: the numbers of objects that are not looked into.
        """
        self.places: list[Place] = []
        self._texts, self._shapes, self._reader = scene.texts, scene.shapes, scene.objects.reader(kept)
        self._dicts, self._lists = scene.objects.dicts, scene.objects.lists
        self._below: dict[int, list[str]] = {}
        self._nodes = 0
        self._held: list[Any] = []
        for name, value in roots:
            root = self._visit(_Node(value, name, (name,), None, general=name))
            for each in self._children(root) if root else ():
                self._breadth_first(each)

    def _breadth_first(self, first: _Node) -> None:
        queue = [first]
        for node in queue:
            met = self._visit(node)
            queue += self._children(met) if met else ()

    def _visit(self, node: _Node) -> _Node | None:
        if isinstance(node.value, str):
            self._text(node)
            return None
        contents = self._reader(node.value)
        if isinstance(contents, Unread):
            return None
        node.contents, node.texts = contents, self._texts_below(node.value)
        kind = self._kind_of(node)
        if kind is None:
            return None
        node.kind, node.root = kind, _root_of(node, kind)
        self._slot(node, "replace")
        self._nodes += 1
        if _is_above(node.value, node.parent) or self._nodes > _MOST_NODES:
            return None
        node.inside = kind in _INSIDE or (node.parent is not None and node.parent.inside)
        self._own_places(node)
        return node

    def _children(self, node: _Node) -> list[_Node]:
        if node.kind == "metadata":
            return []
        return [
            _Node(
                value,
                f"{node.name}{step}".lstrip("."),
                (*node.keys, step),
                node,
                step,
                general=_general_below(node, step),
            )
            for step, value in slots(node.contents)
            if step.kind != "member" and not (step.kind == "field" and step.key.startswith("_"))  # private
        ]

    # ------------------------------------------------------------ what a value is

    def _texts_below(self, value: Any, above: frozenset[int] = frozenset()) -> list[str]:
        if isinstance(value, str):
            return self._texts.found_in(value)
        number = id(value)
        if number in self._below:
            return self._below[number]
        contents = self._reader(value)
        if isinstance(contents, Unread) or number in above:
            return []
        found: dict[str, None] = {}
        for _, each in slots(contents):
            found.update(dict.fromkeys(self._texts_below(each, above | {number})))
        self._below[number] = [*found]
        self._held.append(value)
        return self._below[number]

    def _kind_of(self, node: _Node) -> str | None:
        parent, value, is_list = node.parent, node.value, node.contents.items is not None
        inside = parent is not None and parent.inside
        if parent is None and not node.name:
            return "holder"
        if not node.texts:
            payload_below = parent is not None and parent.kind in ("input", "output")
            return "metadata" if inside and isinstance(value, self._dicts) and not payload_below else None
        if self._is_message(value):
            return "message"
        if is_list and any(map(self._is_message, node.contents.items or ())):
            return "list"
        payload = self._payload_of(value, node.texts)
        if payload:
            return payload
        if is_list:
            return (
                "records"
                if not inside and any(map(self._is_holder, node.contents.items or ()))
                else "content"
            )
        return "part" if inside or not self._is_holder(value) else "holder"

    def _is_message(self, value: Any) -> bool:
        if isinstance(value, (str, *self._lists)) or not self._texts_below(value):
            return False
        if isinstance(value, self._dicts):
            return any(isinstance(shape, frozenset) and shape <= {*value} for shape in self._shapes)
        return type(value) in self._shapes

    def _is_holder(self, value: Any) -> bool:
        """Whether an object has lists with something of the conversation in them, other than a payload."""
        contents = Unread.ATOM if isinstance(value, str) else self._reader(value)
        if isinstance(contents, Unread) or contents.items is not None:
            return False
        for _, each in slots(contents):
            texts = [] if isinstance(each, str) else self._texts_below(each)
            if not texts or self._payload_of(each, texts):
                continue
            if isinstance(each, self._lists) or self._is_message(each) or self._is_holder(each):
                return True
        return False

    def _payload_of(self, value: Any, texts: Sequence[str]) -> str | None:
        """Returns `input` or `output` if all below is of one call's, and no id of a call stands beside it."""
        of = {(self._texts.known[text].kind, self._texts.known[text].call) for text in texts}
        kind, _ = next(iter(of))
        if kind == "text" or len(of) > 1 or has_id(value, self._texts, self._reader):
            return None
        return kind

    # ------------------------------------------------------------ places

    def _text(self, node: _Node) -> None:
        texts = self._texts.found_in(node.value)
        if not texts or node.parent is None:
            return
        node.texts, node.kind = texts[:1], self._texts.known[texts[0]].kind
        node.root = _root_of(node, node.kind)
        self._slot(node, "change")

    def _own_places(self, node: _Node) -> None:
        if node.contents.items is not None:
            self._add(node, "push", node.value, None)
        elif node.kind == "metadata" or self._is_strict_payload(node):
            self._add(node, "key", node.value, None)

    def _is_strict_payload(self, node: _Node) -> bool:
        """A wrapper of a payload is converted, and drops what else it has: only the payload takes keys."""
        if node.kind not in ("input", "output") or not isinstance(node.value, self._dicts):
            return False
        call = self._texts.known[node.texts[0]].call
        if node.parent is not None and node.parent.kind == node.kind:
            return "type" not in node.value
        payload = self._texts.payloads[call or ""][node.kind]
        return isinstance(payload, dict) and payload.keys() <= {*node.value}

    def _slot(self, node: _Node, act: str) -> None:
        parent = node.parent
        if parent is None or node.kind not in _SLOTS or (act == "replace" and node.kind == parent.kind):
            return
        self._add(node, act, parent.value, node.step)

    def _add(self, node: _Node, act: str, container: Any, key: Any) -> None:
        above: _Node | None = node
        while above is not None and not above.texts:
            above = above.parent
        of = None if above is None or node.kind in _MANY else self._texts.first(above.texts)
        self.places.append(
            Place(
                root=node.root,
                owner=of.owner if of else "",
                role=of.role if of else "",
                place=node.kind,
                act=act,
                keys=node.keys,
                name=node.name,
                target=(id(container), key, act),
            )
        )


def has_id(value: Any, texts: Texts, reader: Reader, above: frozenset[int] = frozenset()) -> bool:
    """Returns whether the id of a call is in a value: ids that are there twice break a conversation."""
    if isinstance(value, str):
        return value in texts.payloads
    contents = reader(value)
    if isinstance(contents, Unread) or id(value) in above:
        return False
    return any(has_id(each, texts, reader, above | {id(value)}) for _, each in slots(contents))


def _is_above(value: Any, node: _Node | None) -> bool:
    while node is not None:
        if node.value is value:
            return True
        node = node.parent
    return False


def _root_of(node: _Node, kind: str) -> str:
    """Returns the way to the outermost list, or message, without indices."""
    parent = node.parent
    if parent is not None and parent.kind not in ("holder", "records"):
        return parent.root
    return "" if kind == "holder" else node.general


def _general_below(node: _Node, step: Step) -> str:
    """Returns a name without indices: of records, the last one and those before are apart."""
    if step.kind != "item":
        return f"{node.general}{step}".lstrip(".")
    last = node.kind == "records" and step.key == len(node.contents.items or ()) - 1
    return f"{node.general}[{-1 if last else ''}]"


# ---------------------------------------------------------------- writing


class Undone(NamedTuple):
    """Why a write was not done: a key of `results`, and the reason."""

    result: str
    why: str


def write(
    given: Mapping[str, Any], place: Place, scene: Scene, kept: frozenset[int], *, own: bool = False
) -> Undone | None:
    """Writes once, as a hook would: by `append`, an item, or an attribute.

    Args:
        given: where the way of the place begins, by name.
        place: where, and what.
        scene: what is written.
        kept: the numbers of objects that are not copied.
        own: whether what is given is a copy of the hook's, in which a text is edited wherever it stands.

    Returns:
        Why it was not done; None if it was.
    """
    reader = scene.objects.reader(kept)
    name, *steps = place.keys
    try:
        values = [given[name]]
        for step in steps:
            values.append(_held(values[-1], step, reader))
    except LookupError:
        return Undone("unknown", "the place is not there again")
    value = values[-1]
    if place.act == "push":
        added = _copy_to_push(_items(value, reader), scene, kept)
    elif place.act == "key":
        # Metadata may have to be objects in objects.
        added = {scene.mark: scene.mark} if place.place == "metadata" else scene.mark
    else:
        added = _marked(value, scene, kept)
    if added is None:
        return Undone("unknown", "no copy of it could be marked")
    step = Step("key", scene.mark) if place.act == "key" else steps[-1] if steps else None
    try:
        if place.act == "push":
            value.append(added)
        else:
            _set(value if place.act == "key" else values[-2], step, added)
        there = (
            _items(value, reader)[-1]
            if place.act == "push"
            else _held(value if place.act == "key" else values[-2], step, reader)
        )
    except Exception as error:  # noqa: BLE001 - whatever refuses a write
        return Undone("refused", f"{type(error).__name__}: {error}"[:200])
    if own and place.act == "change":
        _mark_each([*given.values()], scene, kept, scene.texts.found_in(value)[0])
    return None if scene.objects.written(there, added) else Undone("refused", "what was written is not there")


def _copy_to_push(items: Sequence[Any], scene: Scene, kept: frozenset[int]) -> Any:
    """Returns a marked copy of the last element; of the last that is no call or result, if there is one."""
    reader = scene.objects.reader(kept)
    newest = [*reversed(items)]
    for each in sorted(newest, key=lambda item: has_id(item, scene.texts, reader)):
        copy = _marked(each, scene, kept)
        if copy is not None:
            return copy
    return None


def _items(value: Any, reader: Reader) -> Sequence[Any]:
    contents = reader(value)
    return () if isinstance(contents, Unread) else contents.items or ()


def _held(value: Any, step: Any, reader: Reader) -> Any:
    contents = reader(value)
    found = () if isinstance(contents, Unread) else slots(contents)
    for each, held in found:
        if each == step:
            return held
    raise LookupError(step)


def _set(holder: Any, step: Any, value: Any) -> None:
    if step.kind == "field":
        setattr(holder, step.key, value)
    else:
        holder[step.key] = value


def _marked(value: Any, scene: Scene, kept: frozenset[int]) -> Any:
    """Returns a deep copy in which the first text that can be written has the mark; None if there is none."""
    if isinstance(value, str):
        return _marked_text(value, scene)
    copy = scene.objects.copied([value], kept)
    return copy[0] if _mark_each(copy, scene, kept) else None


def _mark_each(copy: list[Any], scene: Scene, kept: frozenset[int], wanted: str | None = None) -> bool:
    """Marks one text wherever a copy of ours has it: a message may have its text in several forms.

    Args:
        copy: the copies.
        scene: what is written.
        kept: the numbers of objects that are not looked into.
        wanted: the text; None for the first that can be written.
    """
    reader, is_marked = scene.objects.reader(kept), False
    texts = [each for each in Walk([("copy", copy)], scene, kept).places if each.act == "change"]
    # A framework may put the instructions of a message in anew: they are the last choice.
    for place in sorted(texts, key=lambda each: each.owner == "instructions"):
        *way, step = place.keys[1:]
        holder: Any = copy
        for each in way:
            holder = _held(holder, each, reader)
        value = _held(holder, step, reader)
        text = scene.texts.found_in(value)[0]
        if scene.mark in value or wanted not in (None, text):
            continue
        try:
            _set_in_copy(holder, step, _marked_text(value, scene))
        except Exception:  # noqa: BLE001, S112 - another text may be writable
            continue
        wanted, is_marked = text, True
    return is_marked


def _set_in_copy(holder: Any, step: Any, value: Any) -> None:
    # The copy is ours: a frozen class does not matter.
    if step.kind == "field":
        object.__setattr__(holder, step.key, value)
    else:
        holder[step.key] = value


def _marked_text(value: str, scene: Scene) -> str | None:
    found = scene.texts.found_in(value)
    return value.replace(found[0], f"{found[0]}{scene.mark}") if found else None


def of_side(places: Iterable[Place], side: str) -> list[Place]:
    """Returns places as those of another side."""
    return [replace(each, side=side) for each in places]


def made(places: Iterable[Place], side: str, place: str, act: str | None = None) -> list[Place]:
    """Returns places in what a hook makes, by whose text is there alone.

    Args:
        places: the places.
        side: where their ways begin.
        place: what they are called: `returned` or `passed`.
        act: the kind of write there; as it is if None.
    """
    return [replace(each, side=side, root="", role="", place=place, act=act or each.act) for each in places]
