"""Where change records come from, as Spark DataFrames of runs (`runs.RUN`).

files     a directory of change files, as a stream; journal remembers which file came when
"""
