"""Change data into Kafka: the steps, and the modules that take them.

cli             the commands, console output and exit codes
daemon          the process: one Spark session, a job for each channel, signals
job             one channel: a streaming query, continuous or at its times, and its graceful end
refresh         whole tables: slices, the select moment, what is through
send            the lines of a growing file into a channel's socket
starting        streams start one after another
gate            a stream ends between two cycles
restart         after failures that time may mend; heartbeat: a file that says that the daemon lives
processes       failures of Spark's processes, told apart from those of the data
rewind          synced cycles, looked back on and gone back to
backup          the progress, written into a file and read from one
cycle           one micro-batch as one Spark job: first pass, shuffle, second pass, sync
sources         change files as a stream of ordered runs; lines from sockets, spooled
first_pass      files -> change rows -> columns -> encoded fragments
  runs            the files of a task, as Spark hands them on
  dialects        source records -> change rows
  pairs           the two rows of an update, kept together
  alike           tables of few rows each, encoded together: those that differ in their names only, or are akin
  akin            tables that differ in their columns: what of them depends on these, and what does not
  family          rows of tables that are akin, encoded as one
  weave           rows out of what was written of columns, and of what stands between
  encode          change rows of a table -> fragments, by:
  properties        change rows -> captured, coerced, computed: columns to send, events, message keys
  envelopes         events -> the columns of a peer's messages
  formats           columns -> encoded rows, and what stands around them
  oversize        rows above the maximum size: dead letters, skeletons
  tombstones      deletes -> messages without value
second_pass     fragments -> framed messages -> acknowledged
  bundle          which rows share a message
  framing         encoded rows -> message values, and what they cost
  outgoing        messages on their way
  produce         messages -> Kafka, and a Report
sync            Reports -> verdict; marks the cycle
consistency     the parts of the state directory, compared before they are used
state           what is kept between cycles; marks: of synced cycles; checkpoint: Spark's, read
registry        the schema registry: schemas -> ids, once, on the driver
messages        what the messages of a table are made of: columns, encoders, frames, schemas
plan            channel + table definitions -> Plan and Recipe
channel         the YAML file: model, actions, scopes, loading with lines, secrets
tables          table definitions: SQL DDL, Avro, YAML; added: columns that came while the channel ran
expression      templates and SQL over substitutions
substitutions   what they give, and where they may stand
compiled        loops over bytes and rows, as machine code
spans           columns that lie in one array with those of other tables
durable         files that survive a power cut; digests: of the journal's beginning
fragments       encoded rows between the passes; tally: what a pass left out or changed
"""
