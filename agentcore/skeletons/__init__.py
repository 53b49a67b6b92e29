"""Drivers to begin with, in files of their own: `agentcore skeleton` writes them."""
