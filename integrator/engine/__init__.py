"""Compiled loops: arrays in, arrays out. They know numbers, bytes, texts and JSON, and nothing of what these mean.

arrays     the arrays that loops take, by the width of their items
compiled   what makes a loop machine code, and where that is kept (cache)
words      bytes of a text eight at a time: searched, compared, hashed
grammar    the grammar of JSON; index: one pass over lines of JSON, in which each value becomes a node
members    the members of objects by their names; values: where values are, and their characters
grid       the values of the columns of many rows; pairs: those of rows in pairs, and values that stand for none
numbers    numbers in texts; timestamps: days and timestamps in texts; literals: lists in braces
memory     what a C library owns, by address; gather: its structures as flat arrays; calls: its function for each one
pgoutput   PostgreSQL's messages; replication: taken from libpq
lines      where lines are; rows: rows put together of pieces, and hashes
"""
