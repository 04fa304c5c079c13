"""JSON lines: checked as a whole, taken apart, and made into values of their types.

lines      files as blocks of lines, and Arrow's parser of them
grammar    each line is JSON, its names are unique, and it has its canonical form
objects    the members of objects, by name
scan       members whose names are known, found in one pass; values, columns: made of them, by type
"""
