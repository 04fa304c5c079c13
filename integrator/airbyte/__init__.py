"""A destination of Airbyte by its protocol: messages on standard input and output.

https://docs.airbyte.com/platform/understanding-airbyte/airbyte-protocol

messages        what is written to standard output, and nothing else is
options, spec   the options of the destination, once, and the specification that is made of them
configuration   options -> a channel, by the import of destination-kafka's
catalog         what a configured catalog may ask of a destination that appends
check           brokers, registry and a test topic tried
lines, intake   lines of standard input -> segments of a spool, with room for a bounded number of bytes
states          STATEs that wait until everything before them is synced
write           all of it: a channel over the spool, integrated until standard input ends

Each run has a working directory of its own: Airbyte keeps the progress, as the last STATE that it was given back.
"""
