"""Change data into Kafka, in packages named by the steps; imports go from top to bottom.

cli          arguments, console, exit codes
imports      other products' configurations -> channels
monitor      a process's status page, metrics and health over HTTP
catalogue    a database's catalogue -> table definitions
refresh      whole tables: slices, ledger, progress
replay       dead letters through their channel again
run          daemon, job, cycle, state: everything that starts Spark
registry     the schema registry
plan         channel and table definitions -> Plan and Recipe, or all problems at once
deliver      fragments -> bundles -> messages in Kafka
encode       change rows -> encoded rows and message values
sources      files and sockets -> file slices, in order
transform    column properties and expressions: change rows -> columns to send
decode       source records -> change rows
formats      one file per message format
channel      the YAML file
contracts    the shapes that cross packages
tables       table definitions: DDL, Avro schema, YAML
expressions  parser and substitutions
arrow        helpers over Arrow and numpy
schema       the type tree; durable: files that survive a power cut
names        what other products call what a channel has
extras       libraries that extras of the package install, imported at first use
errors       by who must act; engine: compiled loops over arrays; prefetch: one step ahead of the next
"""
