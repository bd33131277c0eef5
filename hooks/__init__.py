"""What the harnesses run on their events."""
