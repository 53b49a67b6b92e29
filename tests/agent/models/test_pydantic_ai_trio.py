"""Models of real protocols on trio."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from agent.models.server import Answer, Failure, Text
from agent.models.talk import BOTH, asking, stream_events, talking
from agentcore.agent.models import ModelError, ResponseDone, TextDelta
from agentcore.messages.content import GeneratedText

# The clients leave generators of a stream to the garbage collector, which trio tells so.
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("protocol", BOTH),
    pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning"),
]


@pytest.fixture
def anyio_backend() -> Iterator[str]:
    yield "trio"
    gc.collect()  # while the filter holds


@pytest.mark.slow
async def test_answers_streams_and_errors_work_on_trio(protocol: str) -> None:
    answer = Answer([Text("hello there")])
    script = (answer, answer, answer, Failure(429, {"error": {"message": "slow"}}, {"retry-after": "2"}))
    async with talking(protocol, *script) as (model, _):
        whole = await model.generate(asking())
        assert whole.content[0] == GeneratedText("hello there")
        assert (await stream_events(model, asking()))[-1] == ResponseDone(whole)
        async with model.stream(asking()) as events:
            assert await anext(events) == TextDelta("0", "hello")
        with pytest.raises(ModelError) as caught:
            await model.generate(asking())
        assert (caught.value.status, caught.value.retry_after) == (429, 2.0)
    gc.collect()
