"""Helpers over Arrow and numpy that know nothing of change data.

arrays     strings and bytes as numpy arrays; masks
column_slices   columns that lie in one array with those of other tables
varints, base64, durations: encodings of values
"""
