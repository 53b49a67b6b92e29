from __future__ import annotations

import pytest

from agent.tracing import Tracing


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tracing() -> Tracing:
    return Tracing()
