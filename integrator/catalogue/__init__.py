"""Table definitions out of a database's catalogue, as SQL that the project reads as it reads the database's own dump.

connection    a JDBC connection in the JVM that Spark brings, without a Spark session
read          which tables, and all of it as one text
"""
