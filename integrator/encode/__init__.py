"""Encode: change rows -> fragments, and fragments -> the values of messages.

In come change rows of one or many tables; out go encoded rows, each with its topic, key and position.
batch, table, rows  the rows of all tables whose recipe is the same; programs, divided: which those are
row_*               what of rows is only written, for many tables at once
messages, frames/   what messages of a table are made of; what stands around rows, rows that are too large, tombstones
envelopes/          the columns of other products' messages
"""
