"""Lines of files: opened, cut, checked for UTF-8, and without what many begin with.

files, lines, reading    files as they are opened; lines in blocks
repeated, joined         a member that many lines begin with, left out; small files as one
indexed                  records of another encoding, whose values were found without lines of JSON
"""
