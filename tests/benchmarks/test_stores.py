from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import anyio

import benchmarks
from agentcore.conversations.sql import SqlStore
from benchmarks.peers.keeping import texts_of
from benchmarks.peers.own_store.main import Own
from benchmarks.stores import page

RESULTS = Path(benchmarks.__file__).parent / "results" / "stores"


def test_what_a_turn_says_is_said_by_no_other() -> None:
    texts = [*chain.from_iterable(texts_of(name, turn) for name in ("a", "b") for turn in range(50))]
    assert len({*texts}) == len(texts)
    assert texts_of("a", 7) == texts_of("a", 7)
    assert 900 < sum(map(len, texts_of("a", 7))) < 1_200


def test_our_store_gives_back_what_it_was_given_turn_by_turn(tmp_path: Path) -> None:
    async def kept() -> None:
        own = Own()
        await own.open(f"sqlite:///{tmp_path}/a.db")
        expected: list[str] = []
        for turn in range(3):
            assert await own.load("a") == expected
            question, found, answer = texts_of("a", turn)
            await own.append("a", texts_of("a", turn))
            expected += [question, "", found, answer]
        assert await own.load("a") == expected
        await own.close()
        async with SqlStore(f"sqlite:///{tmp_path}/a.db") as store:
            assert len((await store.load("a")).turns) == 3

    anyio.run(kept)


def test_the_table_is_that_of_the_values_beside_it() -> None:
    values = json.loads((RESULTS / "result.json").read_text())
    assert [*map(_unversioned, page(values).splitlines())] == [
        *map(_unversioned, (RESULTS / "table.md").read_text().splitlines())
    ]


def _unversioned(line: str) -> str:
    return line.partition(" (")[0] + line.partition(")")[2]
