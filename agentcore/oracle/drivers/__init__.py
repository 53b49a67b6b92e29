"""Implementations that run programs: their processes, the protocol, and what checks a driver."""
