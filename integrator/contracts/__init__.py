"""The shapes that cross packages: plain data, frozen, that prints and compares.

recipe, message_format  what executors must know: tables, fields, expressions; how rows stand in messages
changes         change rows: what dialects give and everything after them takes
streams         what must hold over all records of a stream: positions, names of tables
fragments       encoded rows between the two passes, and summaries of files
outgoing        messages on their way; report: what came of them; counters: what was counted or changed
"""
