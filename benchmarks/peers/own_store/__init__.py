"""agentcore's store."""
