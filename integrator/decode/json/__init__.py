"""JSON lines: checked and indexed in one pass, and read by the index: envelopes, images, and the values of all tables.

Comes in: lines of a file. Go out: columns in their types, or the first line that is not accepted, and why.
document                                  checked lines, and each value in them as a node (engine.index)
objects, slices                           the members of objects by name; the characters of values
shapes, named, lists                      the columns of tables; images as lists; lists
numbers, moments, values, columns         slices as values of a type: a new type is a reader here, a case in `coding`
"""
