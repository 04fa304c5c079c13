"""The order of changes: positions of records, and that they ascend.

positions    what records say of their places in transactions and logs
sequencer    their places, counted on over blocks and files
transactions which transactions a block of records ends
ascending    the first and the last position of a file, each after the one before
"""
