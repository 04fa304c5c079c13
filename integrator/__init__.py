"""Change data into Kafka: the steps, and the modules that take them.

cli             the commands, console output and exit codes
daemon          continuous: one streaming query, signals, the graceful end
cycle           one micro-batch as one Spark job: first pass, shuffle, second pass, sync
sources         change files as a stream of ordered runs
first_pass      files -> change rows -> columns -> encoded fragments
  dialects        source records -> change rows
  encode          change rows of a table -> fragments, by:
  properties        change rows -> columns to send, events, message keys
  envelopes         events -> the columns of a peer's messages
  formats           columns -> encoded rows, and what stands around them
second_pass     fragments -> framed messages -> acknowledged
  bundle          encoded rows -> message values
  produce         messages -> Kafka, and a Report
sync            Reports -> verdict; marks the cycle
registry        the schema registry: schemas -> ids, once, on the driver
messages        what the messages of a table are made of: columns, encoders, frames, schemas
plan            channel + table definitions -> Plan and Recipe
channel         the YAML file: model, loading with lines, secrets
tables          table definitions: SQL DDL, Avro, YAML
"""
