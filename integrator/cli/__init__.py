"""The commands: arguments -> calls of the other packages, console output and exit codes.

main         every command of run.py
show         what `check`, `plan` and `state` print
imports      channels from other products' configurations
send         the lines of a growing file into a channel's socket
quickstart   recorded changes into an embedded Kafka, read back and shown
connect_values   what Connect's logical types mean, for people
"""
