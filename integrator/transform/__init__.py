"""Column properties: change rows -> the columns to send, and their message key.

In come change rows of one table, or of several with the same columns; out go arrays, a field of the messages each.

capture_rules, restrict, coalesce   which rows are captured, and what of them
columns                       each field of the messages, copied, computed or soft-deleted
expression, sql, sql_types    templates over substitutions, and SQL, evaluated for all rows at once
cast, coerce, text_rules      into the type that was declared, and values that do not fit
fill_missing                  values that the source does not have
events, update_pairs          the before and the after image of an update as one
message_key                   keys and headers, out of templates or of the key columns
key_hash, row_uuid            {hvr_key_hash}: the hashed distribution key; {hvr_row_uuid}: a UUID of the change

A new substitution is a line in expressions/substitutions, and one in `expression` that computes it.
"""
