"""A suite that an adapter of a framework, or of a loop of one's own, has to pass before its verdicts count.

In tests of one's own:

    from agentcore.live.compliance import AdapterCompliance

    class TestMyLoop(AdapterCompliance):
        adapter = "my_loop:ADAPTER"
        hooks = {"before_model": ("hooks.py#pollutes", "hooks.py#clean")}
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from agentcore.live.adapter import Adapter
from agentcore.live.adapters import adapter_named
from agentcore.live.conversations import conversation
from agentcore.live.judge import Judge
from agentcore.live.loading import HookSource, ValueSource
from agentcore.live.runs import Observation, differing, observe

__all__ = ["AdapterCompliance"]


class AdapterCompliance:
    """The tests; a subclass names the adapter, and two hooks for each of its boundaries.

    Attributes:
        adapter: the value of `--in`.
        hooks: for each boundary, `FILE#EXPORT` of a hook that writes with an effect, and of one that
            returns new objects.
        examples: how many conversations each test runs.
    """

    adapter: ClassVar[str]
    hooks: ClassVar[Mapping[str, tuple[str, str]]]
    examples: ClassVar[int] = int(os.environ.get("AGENTCORE_LIVE_EXAMPLES", "20"))

    def test_0_every_boundary_has_a_pair_of_hooks(self) -> None:
        """If it fails: add the boundary to `hooks`, or take it out of the adapter."""
        assert set(self.hooks) == set(self._adapter().boundaries)  # noqa: S101 - a test of the suite

    def test_1_two_runs_without_a_hook_are_equal(self) -> None:
        """If it fails: name random ids and times in `drop`, and make tool outputs fresh for each call."""
        for seed in range(self.examples):
            for path in self._adapter().paths:
                one, other = self._plain(seed, path), self._plain(seed, path)
                assert differing(one, other) == [], (seed, path)  # noqa: S101 - as above

    def test_1_each_model_call_records_a_prompt_and_each_turn_a_result(self) -> None:
        """If it fails: the loop does not use the scripted model, or `session` is not asked."""
        for seed in range(self.examples):
            for path in self._adapter().paths:
                seen, of = self._plain(seed, path), conversation(seed)
                assert seen.error is None, seen.error  # noqa: S101 - as above
                asked = [
                    sum(each.turn == number for each in seen.prompts) for number in range(len(of["turns"]))
                ]
                assert asked == [len(turn["answers"]) for turn in of["turns"]], (seed, path)  # noqa: S101 - as above
                assert len(seen.shown["result"]) == len(of["turns"])  # noqa: S101 - as above
                assert seen.shown["caller"]  # noqa: S101 - as above

    def test_1_a_passive_hook_changes_nothing(self) -> None:
        """If it fails: `passive` returns something else than a hook that does nothing."""
        for at, boundary in self._adapter().boundaries.items():
            names = boundary.parameters

            def passive(*args: Any, _boundary: Any = boundary, _names: Any = names, **options: Any) -> Any:
                return _boundary.passive({**dict(zip(_names, args, strict=False)), **options})

            source = ValueSource(lambda hook=passive: hook, (), (), Path.cwd(), "passive")  # type: ignore[misc]
            judge = Judge(self._adapter(), source, at)
            for seed in range(self.examples):
                for path in self._adapter().paths:
                    out = judge.judge(conversation(seed), path, seed)
                    assert out.shown == [], (at, seed, path, out.shown)  # noqa: S101 - as above

    def test_2_a_polluting_hook_is_found_and_a_clean_one_is_silent(self) -> None:
        """If it fails: see `kept`, `outlets` and `handles`, and which objects `session.holder` shows."""
        for at, (polluting, clean) in self.hooks.items():
            assert "write" in self._kinds(polluting, at), (at, polluting)  # noqa: S101 - as above
            assert self._kinds(clean, at) == set(), (at, clean)  # noqa: S101 - as above

    # ------------------------------------------------------------ helpers

    def _adapter(self) -> Adapter:
        return adapter_named(self.adapter)

    def _plain(self, seed: int, path: str) -> Observation:
        at = next(iter(self._adapter().boundaries))
        return observe(self._adapter(), conversation(seed), at, path, seed, None, lambda _: False)

    def _kinds(self, hook: str, at: str) -> set[str]:
        adapter = self._adapter()
        file, _, attribute = hook.rpartition("#")
        source = HookSource(
            file,
            attribute,
            Path(file).resolve().parent,
            methods=adapter.boundaries[at].methods,
            bases=adapter.bases(),
        )
        judge = Judge(adapter, source, at)
        paths = adapter.paths
        outs = [
            judge.judge(conversation(seed), paths[seed % len(paths)], seed) for seed in range(self.examples)
        ]
        return {each.kind for out in outs for each in out.shown}
