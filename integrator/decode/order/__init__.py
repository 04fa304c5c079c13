"""The order of changes: positions of records, and that they ascend.

positions    places of records in transactions and logs
ascending    the first and the last position of a file, each after the one before
"""
