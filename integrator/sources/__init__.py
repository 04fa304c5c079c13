"""Where change records come from, as Spark DataFrames of file slices (`file_slices.FILE_SLICE`).

In come a directory or connections; out go file slices, in the order in which files were taken.

files, listing, found_at   a directory of change files, as a stream
journal, journal_lines, compacted, digests, taken_before     which file came when, on disk: a cycle that is sent again
has the same files
receiver, connection, hello, endpoint, line_check     lines through sockets, checked before they are received
spool, spooled     those lines on disk, as change files, until no kept cycle needs them

A new kind of source is a location in channel/sources, and what makes change files of it here.
"""
