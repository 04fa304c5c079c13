"""A directory of change files, or those of a store that Arrow knows.

listing    which files there are now, in order
moved      whether files were taken before under other paths
"""
