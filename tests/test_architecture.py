from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools import architecture


def test_the_picture_is_that_of_the_imports() -> None:
    text = architecture.PAGE.read_text("utf-8")
    assert architecture.with_picture(text, architecture.graph()) == text, "run: python -m tools.architecture"


def test_no_circle_of_rooms() -> None:
    assert architecture.circles(architecture.graph()) == []


def test_rooms_and_floors_are_few() -> None:
    rooms = architecture.graph()
    assert len(rooms) <= 20
    assert architecture.floors(rooms) <= 10


@pytest.fixture
def package(tmp_path: Path) -> Path:
    sources = {
        "__init__.py": "",
        "core/values.py": "from __future__ import annotations\nimport json",
        "agent/agent.py": "from agentcore.core import values\nfrom agentcore.low.b import B",
        "low/__init__.py": "",
        "low/b.py": "import agentcore.core.values\nclass B:\n    from agentcore.low import c\n",
        "low/c.py": "def late():\n    from agentcore.agent.agent import Agent",
        "high/__init__.py": "if True:\n    from agentcore.agent.agent import Agent",
    }
    for name, source in sources.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source, "utf-8")
    return tmp_path


def test_rooms_import_what_their_modules_import_when_they_are_imported(package: Path) -> None:
    assert architecture.graph(package) == {
        "agentcore": set(),
        "core": set(),
        "agent": {"core", "low"},
        "low": {"core"},
        "high": {"agent"},
    }


def test_the_picture_leaves_out_what_follows_and_draws_a_circle_as_one(package: Path) -> None:
    shown = architecture.picture(architecture.graph(package))
    assert "agent --> low" in shown
    assert "agent --> core" not in shown
    (package / "core" / "values.py").write_text("from agentcore.low import b", "utf-8")
    rooms = architecture.graph(package)
    assert architecture.circles(rooms) == [["core", "low"]]
    assert 'core["core<br>low"]' in architecture.picture(rooms)


@pytest.mark.slow
def test_the_command_says_that_a_picture_is_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "ARCHITECTURE.md"
    shutil.copyfile(architecture.PAGE, page)
    monkeypatch.setattr(architecture, "PAGE", page)
    assert architecture.main(["--check"]) == 0
    page.write_text(page.read_text("utf-8").replace("-->", "---", 3), "utf-8")
    page.write_text(
        page.read_text("utf-8").replace(
            "<!-- made by tools/architecture.py ---", "<!-- made by tools/architecture.py -->"
        ),
        "utf-8",
    )
    assert architecture.main(["--check"]) == 1
    assert "run: python -m tools.architecture" in capsys.readouterr().out
    assert architecture.main([]) == 0
    assert page.read_text("utf-8") == (architecture.ROOT / "ARCHITECTURE.md").read_text("utf-8")


def test_a_page_without_a_place_for_the_picture_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the comments"):
        architecture.with_picture("# Architecture\n", {})
