"""`python -m agentcore` is the command `agentcore`."""

from __future__ import annotations

from agentcore.cli import main

if __name__ == "__main__":
    main(prog_name="agentcore")
