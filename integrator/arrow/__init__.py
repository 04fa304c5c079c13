"""Helpers over Arrow and numpy that know nothing of change data.

arrays     strings and bytes as numpy arrays; masks
compiled   loops over bytes and rows as machine code
eight_bytes     bytes of a text looked at eight at a time
column_slices   columns that lie in one array with those of other tables
xxh64      the hash of each value, as hex digits
varints, base64, durations: encodings of values
"""
