"""Delta Lake's change data feed, recorded from a real table."""
