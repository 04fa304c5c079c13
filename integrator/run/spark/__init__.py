"""Spark as the integrator uses it: its session, its start, its log and its failures.

session, configuration, scratch     the session, its configuration, and the directories of its temporary files
starting                            streams start one after another
class_archive, bytecode             what makes a start cheaper, made once by `prepare`
worker_daemon                       what Python workers are forks of
jvm_log, steps, failures            what Spark logs, how long its steps took, and which failures are its own
"""
