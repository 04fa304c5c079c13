"""The shapes that cross packages: plain data, frozen, that prints and compares.

recipe, table_recipe, message_format  what executors must know: tables, fields, expressions; how rows stand in messages
operations      HVR's operation codes
change_batch, segment  change rows, what dialects give and encoders take; sequence: their order in the source
streams         what must hold over all records of a stream: positions, names of tables
fragments       encoded rows between the two passes, and summaries of files
registry_access how a schema registry is reached
outgoing        messages on their way; report: what came of them; counters: what was counted or changed
"""
