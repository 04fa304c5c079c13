"""How records are encoded: each encoding makes of them the records that dialects read, of JSON, or with its nodes."""
