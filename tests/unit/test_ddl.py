"""DDL beside the tables that it defines, or the problems that it has: what, DDL -> tables; DDL -> lines and texts.

A table is told as `schema.name (key): column type!, …`, where ! is NOT NULL.
"""

import decimal

import pytest

from integrator import tables
from integrator.schema import describe
from integrator.tables.sql import ddl

T = "create table t (id int not null, code text not null, note text);\n"

CASES = [
    # keys
    ("a primary key that is added", T + "alter table only t add constraint t_pkey primary key (id);", ["t (id): id integer!, code text!, note text"]),
    ("… without a name", T + "alter table t add primary key (code, id)", ["t (code, id): id integer!, code text!, note text"]),
    ("… with a check before it", T + "alter table t add constraint c check (id > 0), add constraint k primary key (id)", ["t (id): id integer!, code text!, note text"]),
    ("… of a unique index", T + "create unique index i on t (code); alter table t add constraint k primary key using index i", ["t (code): id integer!, code text!, note text"]),
    ("a primary key makes its columns NOT NULL", "create table t (id int, v text); alter table t add primary key (id)", ["t (id): id integer!, v text"]),
    ("a unique constraint", T + "alter table t add constraint u unique (code)", ["t (code): id integer!, code text!, note text"]),
    ("a unique index", T + "create unique index on only t using btree (id desc nulls last, code)", ["t (id, code): id integer!, code text!, note text"]),
    ("the first of two unique ones", T + "create unique index b on t (code); create unique index a on t (id)", ["t (code): id integer!, code text!, note text"]),
    ("a primary key before a unique one", T + "create unique index b on t (code); alter table t add primary key (id)", ["t (id): id integer!, code text!, note text"]),
    ("a unique index of a column that may be null", T + "create unique index i on t (id, note)", ["t (): id integer!, code text!, note text"]),
    ("… that may not be null later", T + "create unique index i on t (note); alter table t alter column note set not null", ["t (note): id integer!, code text!, note text!"]),
    ("a partial index", T + "create unique index i on t (id) where code = 'x'", ["t (): id integer!, code text!, note text"]),
    ("an index of an expression", T + "create unique index i on t (lower(code), id)", ["t (): id integer!, code text!, note text"]),
    ("an index of an expression in brackets", T + "create unique index i on t ((code || 'x'))", ["t (): id integer!, code text!, note text"]),
    ("an index with an operator class", T + 'create unique index i on t (code collate "C" text_pattern_ops)', ["t (code): id integer!, code text!, note text"]),
    ("a deferred constraint", T + "alter table t add unique (code) deferrable initially deferred", ["t (): id integer!, code text!, note text"]),
    ("a constraint that says it is not deferred", T + "alter table t add unique (code) not deferrable", ["t (code): id integer!, code text!, note text"]),
    ("the replica identity", T + "alter table t add primary key (id); create unique index i on t (code); alter table t replica identity using index i", ["t (code): id integer!, code text!, note text"]),
    ("the replica identity by a name that is implied", "create table t (id int primary key, code text not null unique); alter table t replica identity using index t_code_key", ["t (code): id integer!, code text!"]),
    ("the replica identity, full", T + "alter table t add primary key (id); alter table t replica identity full", ["t (id): id integer!, code text!, note text"]),
    ("a key that is dropped", T + "alter table t add constraint k primary key (id); alter table t drop constraint k", ["t (): id integer!, code text!, note text"]),
    ("a column without a key, of a name that is a word of keys", "create table t (id int, period text, exclude text, key text, index int)", ["t (): id integer, period text, exclude text, key text, index integer"]),
    # columns
    ("columns that are added, changed and dropped", T + "alter table t add column a int not null, add b text; alter table t drop column note, alter column id type bigint, alter code drop not null", ["t (): id bigint!, code text, a integer!, b text"]),
    ("a domain over a domain", "create domain d as varchar(9) not null; create domain e as d check (value <> ';'); create table t (id e primary key, v d[])", ["t (id): id varchar(9)!, v varchar(9)[]"]),
    ("types in schemas", "create type a.e as enum ('x'); create type b.e as (x int); create table t (x a.e, y b.e, z a.e[])", ["t (): x enum, y text, z enum[]"]),
    ("a type with capitals", "create type \"E\" as enum ('x'); create domain e as int; create table t (x \"E\", y E)", ["t (): x enum, y integer"]),
    ("serial and identity are NOT NULL", "create table t (a bigserial, b int generated always as identity (start 5))", ["t (): a bigint!, b integer!"]),
    ("defaults and checks that sqlglot does not read", "create table t (a int default (1 operator(pg_catalog.+) 2) not null, b text storage external check (b ~~* all (array['x'])) no inherit, c int)", ["t (): a integer!, b text, c integer"]),
    # tables of tables
    ("a partition has the columns and the key of the whole", "create table w (a int, b date, primary key (a, b)) partition by range (b); create table p partition of w default", ["w (a, b): a integer!, b date!", "p (a, b): a integer!, b date!"]),
    ("a partition that is attached has the key of the whole", "create table w (a int primary key) partition by list (a); create table p (a int not null); alter table only w attach partition p default", ["w (a): a integer!", "p (a): a integer!"]),
    ("a child has the columns of its parents, not their key", "create table a (x int primary key); create table b (y int not null); create table c (z int, y int) inherits (a, b)", ["a (x): x integer!", "b (): y integer!", "c (): x integer!, y integer!, z integer"]),
    ("a column of a parent comes to the child", "create table a (x int); create table c (z int) inherits (a); alter table a add column y int not null", ["a (): x integer, y integer!", "c (): x integer, y integer!, z integer"]),
    ("like", T + "create unique index i on t (id); create table a (like t); create table b (x int, like t including all)", ["t (id): id integer!, code text!, note text", "a (): id integer!, code text!, note text", "b (id): x integer, id integer!, code text!, note text"]),
    # names
    ("names that differ in case", 'create table "Vehicle" ("Id" int primary key); create table Vehicle (ID int, primary key (Id))', ["Vehicle (Id): Id integer!", "vehicle (id): id integer!"]),
    ("names that differ in their schemas", 'create table ops.orders (a int); create table "Ops".orders (b int); create table orders (c int)', ["ops.orders (): a integer", "Ops.orders (): b integer", "orders (): c integer"]),
    ("the schema of the search path", "set search_path = ops, pg_catalog; create table t (a int); set search_path to default; create table u (a int); select pg_catalog.set_config('search_path', '', false)", ["ops.t (): a integer", "u (): a integer"]),
    ("odd names", 'create table "a;b"."c d" ("e""f" int, "g, h" text not null, primary key ("g, h"))', ['a;b.c d (g, h): e"f integer, g, h text!']),
    ("PostGIS", "create table t (a geometry(Point,4326) not null, b geography, c point)", ["t (): a text!, b text, c text"]),
    # statements
    ("a table that is dropped", "drop table if exists t; create table t (a int); drop table t cascade; create table t (b int)", ["t (): b integer"]),
    ("no table of its own", "create temp table x (a int); alter table x add primary key (a); create foreign table f (a int) server s; " + T, ["t (): id integer!, code text!, note text"]),
    ("bodies with semicolons", "create function f() returns int language sql as $$ create table x (a int); $$; create function g() returns int begin atomic select case when true then 1 end; select 2; end; " + T, ["t (): id integer!, code text!, note text"]),
    ("commands and data for psql", "\\connect x\n\\restrict abc'def\ncopy t (a) from stdin;\n1\tcreate table 'x\n\\.\n" + T, ["t (): id integer!, code text!, note text"]),
    ("comments", "-- create table x (a int);\n/* it's\n; */ comment on table t is 'a;\n\\b'; " + T, ["t (): id integer!, code text!, note text"]),
]  # fmt: skip
OF_OTHERS = [
    ("mysql", "create table `T` (`id` int unsigned not null auto_increment, `a` varchar(9) not null, primary key (`id`), unique key `u` (`a`(5)), key `k` (`a`)) engine=InnoDB comment='a;b'", ["T (id): id bigint!, a varchar(9)!"]),
    ("mysql", "create table t (a varchar(9) not null, b int not null, key (b), unique key u (a(5)), unique key v (b)); ", ["t (b): a varchar(9)!, b integer!"]),
    ("mysql", "create table t (id int not null, a int) engine=InnoDB; alter table t add primary key (id), add unique key u (a), add key k (a); alter table t modify id bigint not null auto_increment, auto_increment=7", ["t (id): id bigint!, a integer"]),
    ("mysql", "lock tables t write;\ndelimiter ;;\ncreate trigger x before insert on t for each row begin set new.a = 1; end ;;\ndelimiter ;\ncreate table t (a int);", ["t (): a integer"]),
    ("tsql", "set ansi_nulls on\ngo\ncreate table [dbo].[Order Lines] ([Id] [int] identity(1,1) not null, [x] as ([Id]*2), constraint [PK] primary key clustered ([Id] asc) with (pad_index = off) on [primary]) on [primary]\ngo\n", ["dbo.Order Lines (Id): Id integer!"]),
    ("tsql", "create type dbo.ssn from varchar(11) not null\ngo\ncreate table dbo.t (a int not null, b dbo.ssn)\ncreate unique nonclustered index i on dbo.t (a) with (fillfactor = 90)\nalter table dbo.t with check add constraint f foreign key (a) references dbo.u (a)", ["dbo.t (a): a integer!, b varchar(11)!"]),
    ("oracle", 'create table shop.orders (Id number(12) not null enable, "Name" varchar2(9 char), constraint pk primary key (ID) using index tablespace x) segment creation immediate', ["SHOP.ORDERS (Id): Id bigint!, Name varchar(9)"]),
    ("oracle", "create table t (a number(6), b date);\nalter table t modify (a not null enable);\ncreate or replace trigger x before insert on t for each row\nbegin\n  null; null;\nend;\n/\ncreate unique index i on t (a);", ["T (a): a integer!, b timestamp(3)"]),
    # SQL Server's scripts that check what is there, and what only it has
    ("tsql", "if not exists (select * from sys.objects where object_id = object_id(N'[dbo].[t]') and type in (N'U'))\nbegin\ncreate table [dbo].[t](\n [a] [int] not null) on [primary]\nend\ngo\nif (1 = fulltextserviceproperty('IsFullTextInstalled'))\nbegin\nexec [s].[dbo].[sp_fulltext_database] @action = 'enable'\nend\ngo\nif not exists (select 1)\nalter table [dbo].[t] add [b] [int] null\ngo", ["dbo.t (): a integer!, b integer"]),
    ("tsql", "if object_id('u') is null create table u (a int)\nif exists (select 1) begin\nalter table u add b int\nend", ["u (): a integer, b integer"]),
    ("tsql", "alter table [t] drop constraint [f]\ngo\nif exists (select * from sys.objects)\ndrop table [t]\ngo\ncreate table [t] ([a] [int])\ngo", ["t (): a integer"]),
    ("tsql", "create table t (a sysname not null, b hierarchyid, c geography, d [geometry], e xml(content dbo.s), f [xml](dbo.s), g nvarchar(9) encrypted with (column_encryption_key = k, encryption_type = deterministic, algorithm = 'x') not null)\ncreate xml schema collection s as N'x'\ncreate primary xml index x on t (e)\ncreate clustered columnstore index y on t\ncreate fulltext catalog z\ndisable trigger all on database;", ["t (): a varchar(128)!, b text, c text, d text, e text, f text, g varchar(9)!"]),
    # Oracle's scripts with commands of SQL*Plus, whose words are columns' names elsewhere
    ("oracle", "set echo off\nspool x.log\nwhenever sqlerror exit failure -\n  rollback\nrem it's\nprompt Creating t;\n@@other\ncreate table t (\n host number(3),\n start date,\n prompt varchar2(9),\n define number(3)\n);\ncomment on table t is 'a;\nset b';\nspool off\nexit\n", ["T (): host integer, start timestamp(3), prompt varchar(9), define integer"]),
    ("oracle", "/* made by hand;\n rem and so on */\nset echo off\ncreate table t (/* once;\nset b */ c number(3),\n -- spool x;\n start date);\n/* the end */\nexit\n", ["T (): c integer, start timestamp(3)"]),
    ("oracle", "create cluster c (a number);\ncreate table t (a number(3) default on null 5 not null, b varchar2(9) invisible, c varchar2(9) encrypt using 'AES256' identified by x 'nomac' no salt not null, d mdsys.sdo_geometry, e number(3) encrypt, f date visible);", ["T (): a integer!, b varchar(9), c varchar(9)!, d text, e integer, f timestamp(3)"]),
    ("mysql", "create table t (a point not null srid 4326, b geometry, c multipolygon, d geometrycollection, e int invisible)", ["t (): a text!, b text, c text, d text, e integer"]),
    ("db2", "create table shop.t (a integer not null primary key, b char(3) for bit data)", ["SHOP.T (a): a integer!, b blob"]),
]  # fmt: skip

BAD = [
    # what, DDL, and each problem: its line, and what it says
    ("a word that is wrong", T + "create tabel u (a int);\ncreate table v (b int)", [(2, "'create tabel u ( a int …' is not understood as postgres")]),
    ("all problems at once", "create tabel t (a int);\nfrob;\ncreate table v (b duck int);", [(1, "create tabel"), (2, "'frob' is not"), (3, "bad SQL: ")]),
    ("a type that is not known", "create table t (\n  a int,\n  b duck);", [(3, "t.b: the type duck is not known; declare it as text")]),
    ("a size that is none", "create table t (a varchar(q));", [(1, "t.a: 'Q' is no size of a type")]),
    ("a type of another kind", "create type c (input = f, output = g);\ncreate table t (a c)", [(2, "t.a: the type c (line 1) is no domain, enumeration or row")]),
    ("a bracket that stays open", "create table t (a int,\n b text", [(2, "bad SQL: Expecting ) for the bracket in line 1")]),
    ("a quotation that stays open", T + "comment on table t is 'x;\nselect 1;", [(2, "bad SQL: the ' is not closed")]),
    ("a semicolon that is missing", "set x = 1\ncreate table t (a int);", [(1, "expected ; before create in line 2")]),
    ("… after a table", "create table t (a int)\ncreate table u (a int);", [(1, "expected ; before create in line 2")]),
    ("no such table", "alter table t add primary key (a);", [(1, "t: the file does not define the table t above this line")]),
    ("no such whole", "create table p partition of w default;", [(1, "w: the file does not define the table w above this line")]),
    ("no such parent", "create table p (a int) inherits (w);", [(1, "w: the file does not define the table w above this line")]),
    ("no such column", T + "alter table t add primary key (x);", [(2, "t: names no column: x; there are id, code, note")]),
    ("no such column for NOT NULL", T + "alter table t alter column x set not null;", [(2, "t: names no column: x")]),
    ("no such index", T + "alter table t replica identity using index i;", [(2, "REPLICA IDENTITY USING INDEX i: expected a unique index of NOT NULL columns")]),
    ("an identity that may be null", T + "create unique index i on t (note);\nalter table t replica identity using index i;", [(3, "expected a unique index of NOT NULL columns")]),
    ("a table that is there twice", T + T, [(2, "the table t is defined twice, in line 1 too")]),
    ("a column that is there twice", "create table t (a int,\n a text);", [(2, "column 'a' is there twice")]),
    ("a table without its columns", "create table t as select 1;", [(1, "expected the columns of t in brackets")]),
    ("a name that changes", T + "alter table t rename to u;", [(2, "found 'rename to u', expected ADD, DROP, ALTER")]),
    ("MySQL's end of a table", "create table t (a int) engine=InnoDB;", [(1, "expected the end of PostgreSQL's CREATE TABLE"), (0, "mysql understands all of it")]),
    ("MySQL's numbers", "create table t (a int unsigned);", [(1, "column a: PostgreSQL does not have this"), (0, "mysql understands all of it")]),
    ("MySQL's quotations", "create table `t` (`a` int);", [(1, "expected a name"), (0, "tables: [{file: {file}, sql_dialect: mysql}]")]),
    ("SQL Server's script", "set nocount on\ngo\ncreate table [t] ([a] [int])\ngo\n", [(1, "expected ; before create in line 3"), (0, "tsql understands all of it")]),
]  # fmt: skip


def read(directory, text, dialect="postgres"):
    (directory / "t.sql").write_text(text)
    return tables.Definition(*ddl.read(str(directory / "t.sql"), text, dialect))


def told(table):
    columns = (f"{one.name} {describe(one.type)}{'' if one.nullable else '!'}" for one in table.columns)
    name = ".".join(filter(None, (table.schema, table.base_name)))
    return f"{name} ({', '.join(table.key)}): {', '.join(columns)}"


@pytest.mark.parametrize(("ddl", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_postgresql_defines(ddl, expected, tmp_path):
    made = read(tmp_path, ddl)
    assert made.problems == []
    assert [told(table) for table in made.tables] == expected


@pytest.mark.parametrize(("dialect", "ddl", "expected"), OF_OTHERS)
def test_what_other_databases_define(dialect, ddl, expected, tmp_path):
    made = read(tmp_path, ddl, dialect)
    assert made.problems == []
    assert [told(table) for table in made.tables] == expected


@pytest.mark.parametrize(("ddl", "problems"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_what_is_not_understood_is_a_problem_with_its_line(ddl, problems, tmp_path):
    made = read(tmp_path, ddl)
    assert [problem.line for problem in made.problems] == [line for line, _ in problems]
    for problem, (_, text) in zip(made.problems, problems, strict=True):
        assert text.replace("{file}", str(tmp_path / "t.sql")) in str(problem)


@pytest.mark.parametrize("case", [case for case in BAD if len(case[2]) == 2], ids=lambda case: case[0])
def test_a_file_of_another_dialect_is_read_once_that_is_given(case, tmp_path):
    dialect = "tsql" if "SQL Server" in case[0] else "mysql"
    made = read(tmp_path, case[1], dialect)
    assert (len(made.tables), made.problems) == (1, [])


def test_statements_that_say_nothing_of_tables_are_counted(tmp_path):
    made = read(tmp_path, "set x = 1; set y = 2; grant select on t to u; create index i on t (a); " + T)
    assert made.skipped == {"SET": 2, "GRANT": 1, "CREATE INDEX": 1}


DEFAULTS = [
    # the dialect, the script, the default of column c: constants alone are known
    ("postgres", "create table t(c int default 5);", 5),
    ("postgres", "create table t(c numeric(6,2) default '-1.5'::numeric);", decimal.Decimal("-1.50")),
    ("postgres", "create table t(c text default ('a''b')::text);", "a'b"),
    ("postgres", "create table t(c timestamptz default '2026-01-01');", None),
    ("postgres", "create table t(c int default 5 + 1);", None),
    ("postgres", "create table t(c int default 99999999999);", None),
    ("postgres", "create table t(c text default NULL::text);", None),
    ("postgres", "select 1;\ncreate table t(c int default 5, d int);\nalter table only t alter column c set default nextval('s'::regclass);", None),
    ("postgres", "select 'ä€';\ncreate table t(c int, d int);\nalter table t alter c set default 7, alter d set default 8;", 7),
    ("postgres", "create table t(c int default 5);\nalter table t alter column c drop default;", None),
    ("postgres", "create table t(c int default 5);\nalter table t alter column c type bigint;", 5),
    ("postgres", "create table p(c int default 5);\ncreate table t() inherits (p);", 5),
    ("mysql", "create table t(c decimal(6,2) not null default '1.50');", decimal.Decimal("1.50")),
    ("mysql", "create table t(c timestamp not null default current_timestamp on update current_timestamp);", None),
    ("mysql", "create table t(c int default 5);\nalter table t modify c bigint;", None),
    ("tsql", "create table t(c int not null constraint df default ((5)));", 5),
    ("oracle", "create table t(c varchar2(9) default 'x' not null);", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "ddl", "default"), DEFAULTS)
def test_defaults_that_are_constants(dialect, ddl, default, tmp_path):
    made = read(tmp_path, ddl, dialect)
    assert made.problems == []
    [table] = [one for one in made.tables if one.name == "t"]
    assert table.columns[0].default == default
