"""Spark as the integrator uses it: its session, its start, its log and its failures.

session, scratch                    the session, and the directories of its temporary files
starting, class_archive, bytecode   streams start one after another; what makes a start cheaper
jvm_log, steps, failures            what Spark logs, how long its steps took, and which failures are its own
"""
