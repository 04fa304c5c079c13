"""Column properties: change rows -> the columns to send, and their message key.

columns        each field of the messages, copied, computed or soft-deleted
expression     templates over substitutions, evaluated for all rows at once
cast           into the type that was declared
events         the old and the new row of an update as one
message_key    keys and headers, out of templates or of the key columns
key_hash       {hvr_key_hash}: the hashed distribution key
row_uuid       {hvr_row_uuid}: a UUID of the change
"""
