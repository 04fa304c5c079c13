"""Decode: files of source records -> change rows (`contracts.change_batch`).

In come a file, the tables of the channel and how to read (`contract.Reading`); out go batches of change rows with their
positions. dialects/ has the shapes of records; lines/, json/ and text/ what they share; rows/ and order/ what is made
of any of them. `source_tables` finds a record's table, `detect` recognizes a dialect.
A new dialect is a file in dialects/ and a line in its dict.
"""
