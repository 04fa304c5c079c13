"""Changes captured from a PostgreSQL database, by logical replication with pgoutput.

server                sessions, by the location's address
catalogue             which tables, and their definitions
identity              whether it is the database that was captured
slot, publication     what is made at the server
tables                which tables are captured, and which are not any more
snapshot              the rows that tables have at a position of the log
replication           the slot's stream, in blocks of messages
stream, answers       what of it is made durable, and confirmed
source                the database as a source
"""
