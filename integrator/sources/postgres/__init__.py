"""Changes captured from a PostgreSQL database, by logical replication with pgoutput.

server                sessions, by the location's address
catalogue             which tables, and their definitions
slot, record          what is made at the server, and what is kept of it
snapshot              the rows that tables have at a place of the log
capture, stream       the connection to the slot: what is read, made durable, and confirmed
intake, frames        what the slot sends, as frames of the spool's segments
reader, source        the spool's segments as slices
"""
