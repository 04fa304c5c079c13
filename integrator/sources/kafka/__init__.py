"""Topics of a Kafka cluster: a slice is a range of offsets of one partition.

ranges       the paths of slices, and the streams that they are parts of
listing      which ranges there are to read: the driver decides their ends; sizes: how large they are, about
reader       what reads them on executors; slice_file, joined_slices: a range, or several, as dialects read them
feed         offsets of a consumer group, committed for tools
faults       what went wrong, and what is to be done
"""
