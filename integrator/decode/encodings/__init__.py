"""How records are encoded: each encoding writes them as the JSON lines that dialects read."""
