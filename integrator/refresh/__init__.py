"""Bulk refresh: whole tables into Kafka, slice by slice, through the same encoders and the same delivery as changes.

slices    a table's rows cut into slices by conditions
tables    Spark's reader of one slice
rows      its rows -> fragments
moment    where in the source's order of changes the refresh stands
ledger    which slices are completed, on disk
bars      progress, for people; estimate, expected: of rows and time
captured  tables of a captured database, which the capture reads again
job       all of it: suspended, sliced, sent, and marked
"""
