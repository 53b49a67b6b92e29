from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import agentcore
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile
from agentcore.frameworks.mastra.profiles import MastraProfile
from agentcore.frameworks.strands.profiles import StrandsProfile
from agentcore.kit.framework import fields_of

pytestmark = pytest.mark.slow

SOURCE = Path(agentcore.__file__).parent.parent / "spec" / "reference"


def test_the_reference_is_built_without_a_warning_and_has_every_name_that_the_package_gives(
    tmp_path: Path,
) -> None:
    # Its own dependencies warn of their own things: warnings of the build are what counts.
    options = ("-W", "--keep-going", "-q", "-b", "html")
    argv = [sys.executable, "-m", "sphinx", *options, str(SOURCE), str(tmp_path)]
    built = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    pages = "".join(page.read_text("utf-8") for page in tmp_path.glob("*.html"))
    described = {*re.findall(r'id="agentcore\.[\w.]*?(\w+)"', pages)}
    assert {*dir(agentcore)} - described == set()
    # The fields of profiles have their sentences from conf.py.
    decided = [each for kind in (AiSdkProfile, MastraProfile, StrandsProfile) for each in fields_of(kind)]
    assert {each.name for each in decided if each.statement} - described == set()
