"""Changes captured from a MySQL or MariaDB server, by its binary log.

server, packets       sessions, by the location's address, and packets of what they answer
product, settings     what is not alike in both products, and what must hold at the server
catalogue, charsets   which tables, their definitions, and the character sets of their columns
events, statements    what the log has
table_map, rows       how rows of a table are read, and their changes
tables                which are captured, as the log continues
snapshot              the rows that tables have at a position of the log
log                   what the events of a log mean
stream                the connection to the log: what is read, and made durable
source                the server as a source
"""
