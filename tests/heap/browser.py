"""Debian's Chromium for tests of pages; those are skipped where it is missing, and fail in CI."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def missing() -> str | None:
    """Why pages cannot be tested here; None if they can."""
    if find_spec("playwright") is None:
        return "playwright is not installed: pip install 'agentcore-reference[test]'"
    if shutil.which("chromium") is None:
        return "no chromium on the PATH: apt-get install chromium"
    return None


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser; where there is none, the test is skipped, and fails in CI."""
    reason = missing()
    if reason is not None:
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - known to be there only now

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        yield started
        started.close()
