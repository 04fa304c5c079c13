"""Encode: change rows -> fragments, and fragments -> the values of messages.

In come change rows of one or many tables; out go encoded rows, each with its topic, key and position.
table, rows         rows of one table; batch, joinable, row_*, column_writer: of many tables at once
messages, framing, row_kinds, headers   what stands around the rows of a message, and what a message costs
oversize, tombstones, envelopes/: rows that are too large, deletes, the columns of other products' messages
"""
