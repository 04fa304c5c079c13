"""Run: a plan -> a stream of synced cycles, with Spark.

daemon, job, gate, restart, resume   processes, and the streams of their channels
left_cycle, replanning               the plan of a cycle that was begun before, and of what records are found to have
cycle, after_cycle                   one micro-batch as one Spark job, and what follows when it is synced
sub_cycles, runs                     what is sent after it without a job, and how runs go through the passes
passes/                              the two passes of a cycle, on executors
state/                               what is kept between cycles
spark/                               Spark's session, start, log and failures
seen/                                what people and supervisors see of a channel
"""
