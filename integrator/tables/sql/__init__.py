"""SQL DDL, of many databases and as they dump it -> tables; and catalogues of databases -> SQL.

ddl         the tables of a script; whose: the database whose SQL it is in
scanner     a script -> statements; lexical, routines, clients: what stands out in it
script      a statement -> tokens, by sqlglot; cursor reads them
create, alter, procedures: statements; items, bare, spelling, constants: the columns and keys in them
drafts      the tables so far; named_types, sql_types: their datatypes
…_catalogue what databases answer of their tables
"""

from integrator.tables.contract import Databases, Notation
from integrator.tables.sql import ddl, whose

NOTATION = Notation(
    lambda path, text, sql_dialect, declared: ddl.read(path, text, sql_dialect, declared=declared),
    Databases(ddl.refusal_of, whose.candidates),
)
