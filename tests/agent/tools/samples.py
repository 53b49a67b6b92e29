from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from typing import Annotated, Literal, cast

import pytest
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from agentcore.agent.tools import InvalidToolInputError, Tool, ToolContext, tool
from agentcore.messages.messages import UserMessage
from agentcore.messages.values import JsonValue, vector

CONTEXT = ToolContext(tool_call_id="c1", messages=vector([UserMessage("hi")]), step_number=2)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    tags: list[str] = dataclasses.field(default_factory=list)


class Place(BaseModel):
    """A place on earth."""

    name: str
    nick_name: str | None = Field(default=None, alias="nickName", description="What friends call it.")

    @field_validator("name")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value == "Atlantis":
            raise ValueError("Atlantis is nowhere")
        if value == "Hades":
            raise RuntimeError("the map is torn")
        return value


class Range(TypedDict, total=False):
    low: int
    high: int


class Node(BaseModel):
    value: int
    below: list[Node] = []


@tool
def weather(  # noqa: PLR0913 - one parameter of every kind
    city: str,
    days: int = 3,
    *,
    unit: Literal["c", "f"] = "c",
    colour: Colour = Colour.RED,
    since: dt.date = dt.date(2020, 1, 2),
    place: Place | None = None,
    point: Point | None = None,
    span: Range | None = None,
    either: int | Place = 0,
    pair: tuple[int, int] = (0, 0),
    share: Annotated[float, Field(ge=0, le=1, description="How much of it.")] = 0.5,
    limit: int = Field(10, gt=0, description="At most so many."),
) -> str:
    """Say what the weather is.

    It is made up.

    Args:
        city: Where,
            in words.
        share: Overruled by the hint's own description.
        limit (int): Overruled as well.
        place: A place.
        nothing: No parameter.
        since:

    Returns:
        A text.
    """
    return f"{city} {days} {unit} {colour} {since} {place} {point} {span} {either} {pair} {share} {limit}"


def problems_of(tried: Tool, value: object) -> list[tuple[str, str]]:
    with pytest.raises(InvalidToolInputError) as caught:
        tried.validated(cast("JsonValue", value))
    return [(problem.path, problem.reason) for problem in caught.value.problems]
