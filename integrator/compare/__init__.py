"""Compares tables of a captured database with their topics, while changes continue.

tables       which tables can be compared, and how: what distinguishes rows, and which columns are functions of the row
messages     messages -> rows: formats and envelopes unwrapped; the effect of a message on a row
digests      rows -> digests of key and row, in files by digests of keys
merging      the row that a key's messages leave, and whether the table has the same
as_messages  rows as COPY writes them, as the messages that a refresh would send
at_table     the rows of tables, at positions of the log
at_topic     the topic's messages, committed ones only, from one offset to another
standing     up to which position of the log topics have all changes
sides        both sides of a table in files, and where rows and messages are found again
rounds       keys that differ, read again at later positions, until they are settled
job          the tables of a channel -> results
repair       rows that differ are sent again
follow       tables in turns
kept         when each was compared, and when it was proved last
pairs        topics compared with topics
results      what came out, as plain data

Why no difference is reported that is none: before a position of the log is taken, the ends of topics are noted. All
that was in topics then is in the rows that are read at the position; and topics are read only after all changes before
the position are in them. So a key whose last message is before the noted ends has had no other change: its message and
its row are of the same moment. Other keys that differ are read again, at a later position.

Memory: a record is 74 bytes, in one of 256 files of each side; one pair of files is in memory at a time, and rows as
they are of 8 MiB of COPY, of a block of messages, and of keys that differ (100,000 of a table). By arithmetic,
records of 100 million rows take 7.4 GB of disk a side, with the texts of keys beside them, and 44 MB of memory.
300,000 rows of 13 columns took 112 µs of CPU a row (tests/bench/compare.py), on a machine that others loaded.
"""
