"""Column properties: change rows -> the columns to send, and their message key.

columns        each field of the messages, copied, computed or soft-deleted
expression     templates over substitutions, evaluated for all rows at once
cast           into the type that was declared
key_hash       {hvr_key_hash}: the hashed distribution key
"""
