"""Announced maintenance: machines poll and approve it, and it can hold or start the runs of jobs."""
