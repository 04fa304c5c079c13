"""Encode: change rows -> fragments, and fragments -> the values of messages.

In come change rows of one or many tables; out go encoded rows, each with its topic, key and position.
table, rows         rows of one table; batch, joinable, row_*, column_writer: of many tables at once
messages, frames/   what messages of a table are made of; what stands around rows, rows that are too large, tombstones
envelopes/          the columns of other products' messages
"""
