"""A folder of programs that were found once, to be run first the next time (rule oracle.found-before).

A file is one JSON object, `{format, profile, kind, program}`, in a folder that is named after its profile.
Files are only added: a program that no longer shows anything is what a regression test is, for this driver
and for others of the profile. Who wants one gone deletes its file.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs
import platformdirs

from agentcore.kit.families import family_of, profiles_under
from agentcore.oracle.campaign.findings import DriverFailure, Finding
from agentcore.oracle.campaign.worker import profile_for

__all__ = ["Database", "default_folder"]

Json: TypeAlias = dict[str, Any]
_FORMAT: Final = 1
_NAME: Final = 16


def default_folder() -> Path:
    """Where found programs are kept if nothing else is said: in the user's cache."""
    return platformdirs.user_cache_path("agentcore") / "found"


@attrs.frozen
class Database:
    """The programs in a folder, which need not be there yet."""

    folder: Path

    def programs(self, profile: str) -> tuple[list[Json], list[str]]:
        """The programs of a profile (without its path: of all paths) by file, and why a file holds none."""
        found: list[Json] = []
        problems: list[str] = []
        for file in sorted(file for run in profiles_under(profile).values() for file in self._files(run)):
            try:
                found.append(self._read(file, profile))
            except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
                problems.append(f"{file} holds no program, and is passed over: {error}; delete it")
        return found, problems

    def add(self, profile: str, finding: Finding) -> Path | None:
        """Keeps the program of a finding under its own path's profile; the file.

        What happened once and not again is not kept. Raises OSError where the folder cannot be written to.
        """
        if isinstance(finding, DriverFailure) and not finding.repeated:
            return None
        run = profile_for(finding.program, profile)
        line = family_of(run).to_line({**finding.program, "id": ""})
        folder = self.folder / run
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{hashlib.sha256(line.encode()).hexdigest()[:_NAME]}.json"
        fields = {
            "format": _FORMAT,
            "profile": run,
            "kind": str(finding.kind),
            "program": finding.program,
        }
        # Whole or not at all: others may read the folder, or write the same file.
        new = file.with_suffix(f".{os.getpid()}.new")
        new.write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")
        new.replace(file)
        return file

    def _files(self, profile: str) -> list[Path]:
        return [*(self.folder / profile).glob("*.json")]

    def _read(self, file: Path, profile: str) -> Json:
        fields = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
            raise ValueError(f"its format is not {_FORMAT}")
        family_of(profile).require(fields["program"])
        program: Json = fields["program"]
        return program
