"""The commands: arguments -> calls of the other packages, console output and exit codes.

main         the command line of run.py, `check`, `plan`; state, transfer: other commands; options: those of several
definitions, init   table definitions from a database; a first channel
show, as_json       what `check`, `plan` and `state` print: for people, for programs
check, inspection   what `check` tries and inspects
imports      the commands below `import`: channels from other products' configurations
compare      tables of captured databases with topics: what came out, and repairs
send, replay        lines into a channel's socket; dead letters through the channel again
quickstart   recorded changes into an embedded Kafka, read back and shown
connect_values   what Connect's logical types mean, for people

Modules that declare commands import at their head only what `--help` needs.
"""
