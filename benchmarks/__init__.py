"""What agentcore costs, measured beside other loops (see README.md)."""
