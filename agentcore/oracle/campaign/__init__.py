"""Campaigns of many random programs: workers, verdicts, findings."""
