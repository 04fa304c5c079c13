"""Run: a plan -> a stream of synced cycles, with Spark.

daemon, job, starting, gate, restart, session, heartbeat, progress: processes and streams
class_archive, pyspark_bytecode: what makes later starts of Spark cheaper
cycle         one micro-batch as one Spark job: first_pass, shuffle, second_pass, sync
state         what is kept between cycles; marks, spark_checkpoint and consistency: its parts, compared
rewind, backup: going back to a synced cycle, and to a copy of the state
"""
