"""Contracts of frameworks: who sees a write, and which release changed that (`spec/contracts.md`)."""
