"""Where change records come from, as slices in the order in which they were taken.

contract, location            what a source is, and what all are checked for
slices, watch, stream         what sources are divided into; a listing asked again; Spark's stream of slices
journal/                      which slice was taken when, on disk
files/, sockets/              the sources
by_class                      the sources, by the class of their location
tables, jdbc_url, jdbc_drivers  where whole tables come from, for `refresh`

A new source is a location in channel/sources, a file or folder here with what `contract.Source` asks, and a line in
`by_class.SOURCES`.
"""
