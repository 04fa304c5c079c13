"""Exactly once, explored: the real classes run in random schedules against a broker in memory.

    python -m tests.model [--schedules 20000] [--seed 0] [--scenario NAME …]     explores, and shrinks what it finds
    python -m tests.model --scenario NAME --replay SEED                          prints a schedule step by step

schedule    actors that take turns at named steps, in an order that a list of choices decides
kafka       the broker, and librdkafka's interface to it: the one thing that is not the product's
process     Spark's part: a process that integrates a channel, its cycles, its tasks
database    a database's tables, its log of transactions, and a snapshot of it
postgres    its log as a slot sends it, for the real capture of PostgreSQL
binlog      its log as MariaDB and MySQL write it, for the real capture of these
capture     a capture into a spool, the faults of a database, and what must hold of the spool
in_memory   the product's classes, which meet all these instead of the real parts
scenarios   what each kind of schedule has; `delivery_schedule` and `capture_schedule` run one with its faults
invariants  what must hold after each schedule

A schedule is a list of numbers, which a seed makes. A shorter list with smaller numbers is a simpler schedule: `explore`
shrinks a list that breaks an invariant until nothing can be left out.
"""
