"""Mistakes in columns, datatypes and numbers of actions."""

from tests.unit.broken_channels.contract import broken
from tests.unit.broken_channels.edits import more

CASES = [
    broken(
        "a column is misspelled",
        more("{action: ColumnProperties, Name: emial, table: customers, Absent: true}"),
        "28: $.actions[2].Name: table customers: 'emial' is no column; do you mean email?",
        ("emial", "email"),
    ),
    broken(
        "a column of one table for all tables",
        more("{action: ColumnProperties, Name: email, Absent: true}"),
        "28: $.actions[2].Name: tables orders, items, products and 2 more: 'email' is no column; table customers has it: write table: customers",
        ("Name: email,", "Name: email, table: customers,"),
    ),
    broken(
        "a new column without Extra",
        more(
            '{action: ColumnProperties, Name: loaded, Datatype: timestamp, IntegrateExpression: "{hvr_integ_tstamp}"}'
        ),
        "28: $.actions[2].Name: all 6 tables: 'loaded' is no column; a new one needs Extra: true and a Datatype; its columns are id, name, email, born, photo",
        ("Name: loaded,", "Name: loaded, Extra: true,"),
    ),
    broken(
        "a new column without a datatype",
        more('{action: ColumnProperties, Name: loaded, Extra: true, IntegrateExpression: "{hvr_integ_tstamp}"}'),
        "28: $.actions[2].Extra: all 6 tables: the Extra column 'loaded' needs a Datatype or SoftDelete; for text write Datatype: varchar",
        ("Extra: true, Int", "Extra: true, Datatype: timestamp, Int"),
        own="timestamp",
    ),
    broken(
        "a datatype that is empty",
        more("{action: ColumnProperties, Name: x, Extra: true, Length: 5, Datatype: }"),
        [
            "28: $.actions[2].Extra: all 6 tables: the Extra column 'x' needs a Datatype or SoftDelete; for text write Datatype: varchar",
        ],
        ("Datatype: }", "Datatype: varchar}"),
    ),
    broken(
        "a parameter that cannot be read, of a column that another action names",
        more(
            "{action: ColumnProperties, Name: x, Extra: maybe, Datatype: text}\n"
            "  - {action: ColumnProperties, table: orders, Name: x, Nullable: false, Datatype: text}"
        ),
        "28: $.actions[2].Extra: true or false is wanted here; found 'maybe'",
        ("maybe", "true"),
    ),
    broken(
        "a datatype is misspelled",
        more("{action: ColumnProperties, Name: x, Extra: true, Datatype: varchr}"),
        "28: $.actions[2].Datatype: all 6 tables: 'varchr' is no datatype; do you mean varchar?",
        ("varchr", "varchar"),
    ),
    broken(
        "a datatype of SQL",
        more("{action: ColumnProperties, Name: x, Extra: true, Datatype: int}"),
        "28: $.actions[2].Datatype: all 6 tables: 'int' is no datatype; int, of SQL: use integer",
        ("int}", "integer}"),
    ),
    broken(
        "a datatype of Spark",
        more("{action: ColumnProperties, Name: x, Extra: true, Datatype: string}"),
        "28: $.actions[2].Datatype: all 6 tables: 'string' is no datatype; string, of Spark, Avro and Kafka Connect: use varchar",
        ("string}", "varchar}"),
    ),
    broken(
        "a datatype with its length",
        more("{action: ColumnProperties, Name: x, Extra: true, Datatype: varchar(45)}"),
        "28: $.actions[2].Datatype: all 6 tables: 'varchar(45)' is no datatype; write Datatype: varchar, Length: 45",
        ("varchar(45)", "varchar, Length: 45"),
    ),
    broken(
        "a datatype with its digits",
        more("{action: ColumnProperties, Name: x, Extra: true, Datatype: 'decimal(9,2)'}"),
        "28: $.actions[2].Datatype: all 6 tables: 'decimal(9,2)' is no datatype; write Datatype: decimal, Precision: 9, Scale: 2",
        ("'decimal(9,2)'", "decimal, Precision: 9, Scale: 2"),
    ),
    broken(
        "a length without a datatype",
        more("{action: ColumnProperties, Name: email, table: customers, Length: 40}"),
        "28: $.actions[2].Length: table customers: Length needs a Datatype beside it; for text write Datatype: varchar",
        ("Length: 40", "Datatype: varchar, Length: 40"),
    ),
    broken(
        "a type that the column cannot become",
        more("{action: ColumnProperties, Name: photo, table: customers, Datatype: date}"),
        "28: $.actions[2].Datatype: table customers: 'photo': blob cannot become date; it can become boolean, tinyint, smallint, integer, bigint, real, float…uuid, json, inet, enum, blob, binary",
        ("Datatype: date", "Datatype: blob"),
    ),
    broken(
        "a key column that is absent",
        more("{action: ColumnProperties, Name: sku, table: products, Absent: true}"),
        "28: $.actions[2].Absent: table products: 'sku' belongs to the key, which cannot be absent; let others be the key, or mask it",
        ("Name: sku,", "Name: price,"),
        own="price",
    ),
    broken(
        "all columns are absent",
        [
            ("shop.sql", "create table audit(id int primary key,", "create table audit(id int,"),
            more(
                "{action: ColumnProperties, Name: id, table: audit, Absent: true}\n  - {action: ColumnProperties, Name: happened, table: audit, Absent: true}\n  - {action: ColumnProperties, Name: what, table: audit, Absent: true}"
            ),
        ],
        "30: $.actions[4].Absent: table audit: all columns are absent, and nothing of a row would be sent; send one, or leave the table out: {action: TableProperties, table: audit, Absent: true}",
        ("  - {action: ColumnProperties, Name: id, table: audit, Absent: true}\n", ""),
    ),
    broken(
        "two columns of one name",
        more("{action: ColumnProperties, Name: email, table: customers, BaseName: name}"),
        "28: $.actions[2].BaseName: table customers: two columns are named 'name'; choose another name",
        ("BaseName: name", "BaseName: mail"),
        own="mail",
    ),
    broken(
        "a column named as its substitution",
        ("Name: op_val", "Name: hvr_op"),
        "20: $.actions[0].IntegrateExpression: all 6 tables: a column named hvr_op cannot take {hvr_op}; rename it, for example op_val",
        ("Name: hvr_op", "Name: op_val"),
    ),
    broken(
        "a unit in a number of bytes",
        ("10000000", "10MB"),
        "30: $.actions[2].CycleByteLimit: a whole number of bytes is wanted here, without its unit: for 10MB write 10000000",
        ("10MB", "10000000"),
    ),
    broken(
        "a unit in a number of seconds",
        more("{action: Integrate, Delay: 5m}"),
        "28: $.actions[2].Delay: a whole number of seconds is wanted here, without its unit: for 5m write 300",
        ("5m", "300"),
    ),
    broken(
        "a unit in a variable",
        more("{action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: 5MB}"),
        "28: $.actions[2].Value: HVR_KAFKA_MSG_MAX_BYTES: '5MB' is not accepted; a whole number from 4096 to 1000000000 is; write 5000000",
        ("5MB", '"5000000"'),
    ),
]
