"""Checking with many random programs: workers, verdicts, findings."""
