"""Isolated processes that plan on a snapshot and propose."""
