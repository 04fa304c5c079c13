"""Mistakes in table definitions, and in which of them are taken."""

from tests.unit.broken_channels.contract import broken

MORE = ("[shop.sql]", "[shop.sql, more.yaml]")
YAML = """\
tables:
  - name: more
    key: [id]
    columns:
      - {name: id, datatype: integer}
"""
CASES = [
    broken(
        "a table file that is not there",
        ("[shop.sql]", "[shp.sql]"),
        "12: $.tables[0]: there is no file shp.sql; do you mean shop.sql?",
        ("shp.sql", "shop.sql"),
    ),
    broken(
        "a directory of table files",
        ("[shop.sql]", "[in]"),
        "12: $.tables[0]: there is no file in; beside it are shop.sql",
        ("[in]", "[shop.sql]"),
    ),
    broken(
        "one table file without a list",
        ("[shop.sql]", "shop.sql"),
        "12: $.tables: a list is wanted here: write [shop.sql]",
        (": shop.sql", ": [shop.sql]"),
    ),
    broken(
        "an unknown SQL dialect",
        ("[shop.sql]", "[{file: shop.sql, sql_dialect: postgresql}]"),
        "12: $.tables[0].sql_dialect: 'postgresql' is no SQL that is known; do you mean postgres?",
        ("postgresql", "postgres"),
    ),
    broken(
        "a misspelled SQL dialect",
        ("[shop.sql]", "[{file: shop.sql, sql_dialect: postgrse}]"),
        "12: $.tables[0].sql_dialect: 'postgrse' is no SQL that is known; do you mean postgres?",
        ("postgrse", "postgres"),
    ),
    broken(
        "a table that the file does not define",
        ("[shop.sql]", "[{file: shop.sql, only: [customers, oders, items]}]"),
        "12: $.tables[0].only: shop.sql defines no table 'oders'; do you mean orders?",
        ("oders", "orders"),
    ),
    broken(
        "a name for a table that is not there",
        ("[shop.sql]", "[{file: shop.sql, names: {oders: orders}}]"),
        "12: $.tables[0].names: shop.sql defines no table 'oders'; do you mean orders?",
        ("{oders: orders}", "{orders: orders}"),
    ),
    broken(
        "a key of a table file is misspelled",
        ("[shop.sql]", "[{file: shop.sql, dialect: postgres}]"),
        "12: $.tables[0].dialect: this key is not known here; do you mean sql_dialect? dialect belongs to a location of class files, socket",
        ("dialect: postgres", "sql_dialect: postgres"),
    ),
    broken(
        "a table group with a table that is not there",
        ("BIG: [orders, items]", "BIG: [orders, item]"),
        "14: $.table_groups.BIG[1]: 'item' is no table; do you mean items?",
        ("item]", "items]"),
    ),
    broken(
        "a table group in small letters",
        ("BIG: [orders, items]", "big: [orders, items]"),
        "14: $.table_groups.big: 'big' is no group: it has capitals, digits and underscores, a letter first; write BIG",
        ("big:", "BIG:"),
    ),
    broken(
        "a broken CREATE TABLE",
        ("shop.sql", "price numeric(9,2)", "price numeric(9,2"),
        "shop.sql:4: bad SQL: Expecting ) for the bracket in line 4: create table products ( sku varchar …",
        ("shop.sql", "price numeric(9,2", "price numeric(9,2)"),
    ),
    broken(
        "a type that no database has",
        ("shop.sql", "weight real", "weight rael"),
        "shop.sql:4: products.weight: the type rael is not known; do you mean real?",
        ("shop.sql", "rael", "real"),
    ),
    broken(
        "a comma is missing",
        ("shop.sql", "paid boolean,", "paid boolean"),
        "shop.sql:5: bad SQL: Expecting ) near 'amount', in 'paid boolean amount numeric ( 9 , 2 …'",
        ("shop.sql", "paid boolean", "paid boolean,"),
    ),
    broken(
        "MySQL's SQL without its dialect",
        ("shop.sql", "create table audit(id int", "create table `audit`(id int auto_increment"),
        [
            "shop.sql: the file is read as postgres, and mysql understands all of it: give its sql_dialect, mysql: tables: [{file: shop.sql, sql_dialect: mysql}]",
            "shop.sql:6: create table ` audit ` ( …: found '` audit ` ( …', expected a name",
        ],
        ("[shop.sql]", "[{file: shop.sql, sql_dialect: mysql}]"),
    ),
    broken(
        "an Avro schema that is no JSON",
        [
            ("[shop.sql]", "[shop.sql, more.avsc]"),
            ("more.avsc", "", '{"type": "record", "name": "more", "fields": [{"name": "id" "type": "int"}]}'),
        ],
        "more.avsc:1: bad JSON: Expecting ',' delimiter; expected an Avro record schema",
        ("more.avsc", '"id" "type"', '"id", "type"'),
    ),
    broken(
        "a YAML table with SQL's key",
        [MORE, ("more.yaml", "", YAML.replace("datatype", "type"))],
        "more.yaml:5: tables.0.columns.0.type: this key is not known here; do you mean datatype?",
        ("more.yaml", "type:", "datatype:"),
    ),
    broken(
        "a YAML table with a bad datatype",
        [MORE, ("more.yaml", "", YAML.replace("integer", "intger"))],
        "more.yaml:5: more.id: 'intger' is no datatype; do you mean integer?",
        ("more.yaml", "intger", "integer"),
    ),
    broken(
        "a YAML table whose key is no column",
        [MORE, ("more.yaml", "", YAML.replace("[id]", "[idd]"))],
        "more.yaml:3: more.key: 'idd' is no column of the table; do you mean id?",
        ("more.yaml", "idd", "id"),
    ),
]
