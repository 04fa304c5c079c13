"""JSON lines: checked as a whole, taken apart, and made into values of their types.

lines      files as blocks of lines, and Arrow's parser of them
grammar    what JSON is; canonical: each line is, its names are unique, and it is written in one way
objects    the members of objects, by name; lists: JSON's and PostgreSQL's
scan       members whose names are known, found in one pass; values, columns: made of them, by type
"""
