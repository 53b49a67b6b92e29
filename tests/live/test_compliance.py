"""These Python adapters pass their compliance suite, each in the framework's own environment."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from agentcore.live import adapters
from agentcore.live.installs import InstallError, installed
from live.packages import RELEASES

pytestmark = pytest.mark.live

SUITE: Final = Path(__file__).parent / "comply.py"
EXAMPLES: Final = os.environ.get("AGENTCORE_LIVE_EXAMPLES", "10")


@pytest.mark.sample(1)
@pytest.mark.parametrize("framework", ["agent-framework", "google-adk", "strands-py"])
def test_the_adapter_passes_its_compliance_suite(framework: str) -> None:
    try:
        place = installed(adapters.PACKAGES[framework], RELEASES[framework])
    except InstallError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{framework} could not be installed: {error}")
    command = [place.python, "-B", str(SUITE), framework, EXAMPLES]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    assert len(found) == 5
    assert {name: why for name, why in found.items() if why is not None} == {}
