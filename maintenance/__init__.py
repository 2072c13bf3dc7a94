"""Announced maintenance, which machines poll and approve, and which jobs heed."""
