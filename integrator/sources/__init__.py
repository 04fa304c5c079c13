"""Where change records come from, as Spark DataFrames of file slices (`file_slices.FILE_SLICE`).

files     a directory of change files, as a stream; journal remembers which file came when
"""
