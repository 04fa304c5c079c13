"""What capturing databases has in common: what they send becomes frames of pgoutput's shape in a spool, each once (I9).

thread                connects to the database's log, and again after each failure
intake, frames        what comes, as frames of the spool's segments
stream                a connection to the database's log: what those of all products share
first_rows, rows_only the rows that tables have before their changes, or without any; position_rows: those of one
                      position; read_tables: whose rows were read; progress: how far they are
points, ranges        positions of the log at which rows are read; up to which key a table is read
asked                 refreshes that are asked for while the capture runs
record                what is kept beside the segments
definitions           how tables are defined, as their definitions change
reader, source        the spool's segments as slices
"""
