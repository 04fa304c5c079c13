"""The Python interface: what the commands do, as functions; its names are those of `integrator`.

channel      run, and channels from files
sink         batches of a Spark stream -> change files of a channel, synced before Spark continues
batch_file   a batch as a Parquet file, written in a task
"""
