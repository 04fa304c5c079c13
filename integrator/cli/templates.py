"""The channels that `init` writes: a first one, and one for production, which nobody watches."""

from __future__ import annotations

from enum import Enum


class Template(str, Enum):
    """What a channel is for."""

    FIRST = "first"
    PRODUCTION = "production"


FILES = """\
  # Change files appear here under their final names. Their shape is recognized; `dialect: debezium` fixes it.
  src: {{class: files, path: {changes}}}
"""
PRODUCTION_FILES = """\
  src:
    class: files
    # Change files appear here under their final names. Their shape is recognized; `dialect: debezium` fixes it.
    path: {changes}
"""
RULES = """\
    # A column that comes later is added to its table while the channel runs.
    unknown_columns: add
    # Changes that a producer repeats after a restart, as Debezium's connectors do, are sent again.
    repeated_positions: send
"""
"""Of a source with topics: lines after its location's."""
PRODUCTION_RULES = """\
    # A column that the definitions do not have is added to its table while the channel runs.
    unknown_columns: add
    # Changes of a table that the definitions do not have are rejected into the dead letter topic (errors), from which
    # `replay` sends them when the table is defined. With `ignore` they are counted, and gone.
    unknown_tables: error
    # Changes that capture repeats after a restart, as Debezium, Maxwell and pg_recvlogical do, are sent again. Where
    # yours never does that, `error` finds files that are out of order.
    repeated_positions: send
"""
KEYS = """\
  # The key of a message is the primary key of its row: changes of a row are in order, in one partition, and compaction
  # keeps the last one of each row.
  - {{action: Integrate, MessageKeySerializer: {serializer}{more}}}
"""
FIRST = """\
# What is sent where. Every word is in docs/reference.md; `check` names each mistake with its line.
channel: {name}
locations:
{source}  kaf:
    class: kafka
    Kafka_Brokers: {brokers}
{access}    Kafka_Default_Topic: "{topic}"
    # Topics that are not there are created so; without this they must be there. In production: 3 replicas.
    Create_Topics: {{Partitions: 4, Replication_Factor: 1}}
{tables}actions:
  # Each change is a message, deletes too: op_val says what it is (0 delete, 1 insert, 2 update, 3 the row before
  # its key was updated, which is gone, 4 the row before an update of the rest, 5 truncate); integ_seq orders them.
  - {{action: ColumnProperties, Name: op_val, Datatype: integer, Extra: true, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: integ_seq, Datatype: varchar, Length: 45, Extra: true, TimeKey: true,
     IntegrateExpression: "{{hvr_integ_seq}}"}}
{keys}{actions}"""
NO_ACCESS = """\
    # Kafka_Tls: true
    # Kafka_Authentication_Method: SCRAM-SHA-512
    # Stream_User: integrator
    # Stream_Password: ${file:kafka.password}
"""
"""Of a Kafka location in production, where nothing is known of its access."""
PRODUCTION = """\
# What is sent where. Every word is in docs/reference.md; docs/howto/production.md has how it is run.
channel: {name}
# Progress, on a disk that is kept. One process has it at a time.
state: {state}
# A process that was cut off sends nothing late.
delivery: exactly_once
# Where the status page and the metrics are. Another channel on the machine has another port.
monitor: {{listen: "127.0.0.1:8472"}}
locations:
{source}  kaf:
    class: kafka
    Kafka_Brokers: {brokers}
{access}    Kafka_Default_Topic: "{topic}"
    # Topics that are not there are created so. The number of partitions cannot be changed later without losing order.
    Create_Topics: {{Partitions: 12, Replication_Factor: 3}}
errors:
  # A line that cannot be read or sent does not stop the others: it goes to the dead letter topic, as it came.
  tolerance: all
  deadletterqueue.topic.name: {name}.dead
  deadletterqueue.topic.replication.factor: 3
  log.enable: true
  # More than so many of so many lines are no accident: the channel stops.
  threshold: {{failed: 1000, of: 10000}}
{errors}# A broker that is away does not end the process, however long.
restart: {{timeout_seconds: -1}}
{tables}actions:
  # Each change is a message, deletes too: op_val says what it is (0 delete, 1 insert, 2 update, 3 the row before
  # its key was updated, which is gone, 4 the row before an update of the rest, 5 truncate); integ_seq orders them.
  - {{action: ColumnProperties, Name: op_val, Datatype: integer, Extra: true, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: integ_seq, Datatype: varchar, Length: 45, Extra: true, TimeKey: true,
     IntegrateExpression: "{{hvr_integ_seq}}"}}
{keys}{actions}"""
"""As the first channel's text, it is given name, source, brokers, access, topic, tables, keys and actions; and the
directory of progress, and more lines of `errors`."""
