"""Scripts as people and tools write them: how they are cut into statements, what is counted, and what is never lost.

A case is a database, a script, the tables it defines, and what else of it is counted.
"""

import subprocess
import sys

import pytest

from tests.unit.test_ddl import read, told

A = "create table a (x int not null primary key);\n"
IS_A = "a (x): x integer!"

CLIENTS = [
    # what clients and dump tools write beside definitions
    ("oracle", "create table a (x number(9) not null, t varchar2(9), primary key (x));\ninsert into a values (1, 'up -- down');\nexit;\n", ["A (x): x integer!, t varchar(9)"], {"SQL*Plus command": 1, "INSERT": 1}),
    ("oracle", "set define off;\nprompt it's\n@@other.sql\ndesc a\ncreate table a (x number(9));\n/\nbegin\n  null;\nend;\n/\naudit session;\nset role none;\ncreate table b (x number(9));", ["A (): x integer", "B (): x integer"], {"SQL*Plus command": 4, "block of statements": 1, "AUDIT": 1, "SET": 1}),
    ("oracle", "create table a (t varchar2(20) default q'[it's; a]');\ncomment on table a is q'{a'b;}';\ncreate table b (x number(9));", ["A (): t varchar(20)", "B (): x integer"], {"COMMENT": 1}),
    ("oracle", "alter session set current_schema = shop;\ncreate table a (x number(9));", ["SHOP.A (): x integer"], {"ALTER": 1}),
    ("mysql", "change master to master_log_file='f.1', master_log_pos=4;\nchange replication source to source_log_pos=4;\nstart slave;\nstop replica;\nflush /*!50503 binary */ logs;\nreset slave all;\npurge binary logs to 'x';\nset @@global.gtid_purged=/*!80000 '+'*/ 'a:1';\ndrop temporary table if exists z;\n<A>", [IS_A], {"CHANGE": 2, "START": 1, "STOP": 1, "FLUSH": 1, "RESET": 1, "PURGE": 1, "SET": 1, "DROP TABLE": 1}),
    ("mysql", "source other.dump ;\n\\. more.sql\nsystem ls\ntee log.txt\nselect 'x' as `it's`\\G\n<A>", [IS_A], {"mysql command": 4, "SELECT": 1}),
    ("mysql", "delimiter //\ncreate procedure p() begin create table inner_one (x int); select 1; end//\n<A//>delimiter ;\ncreate table b (x int);", [IS_A, "b (): x integer"], {"DELIMITER": 2, "CREATE PROCEDURE": 1}),
    ("mysql", "create trigger t before insert on a for each row begin\n  if new.x then set new.x = case when 1 then 2 end; end if;\nend;\n<A>", [IS_A], {"CREATE TRIGGER": 1}),
    ("mysql", "create table a (x int not null primary key) comment='it\\'s; \\\\';\n# it's; a comment\nselect 5--1;\n-- it's\ncreate table b (x int)", [IS_A, "b (): x integer"], {"SELECT": 1}),
    ("mysql", "create database one; use one;\ncreate table a (x int);\nuse `two`;\ncreate table a (x int);", ["one.a (): x integer", "two.a (): x integer"], {"USE": 2}),
    ("tsql", ':setvar Path "C:\\data\\"\n:on error exit\n!!dir\ngo\nraiserror (\'go\n on\', 0, 1)\ngo\ncheckpoint\ngo 2\n<A>' "go\ndbcc checkdb\nwaitfor delay '0:0:5'\n", [IS_A], {"SQLCMD command": 3, "RAISERROR": 1, "CHECKPOINT": 1, "DBCC": 1, "WAITFOR": 1}),
    ("tsql", "if object_id('a') is null\nbegin\n  create table a (x int not null primary key)\n  insert into a values (1)\nend\nelse print 'is there'\nalter table a\n  alter column x bigint not null\nalter table a add constraint d default (0) for x, constraint e check (x > 0), constraint u unique (x)\n", ["a (x): x bigint!"], {"IF": 1, "BEGIN": 1, "INSERT": 1, "END": 1}),
    ("tsql", "create table #a (x int)\ncreate table a (x int not null primary key)\ngo\ncreate procedure p as\nbegin\n create table b (x int)\n create table #c (x int)\nend\ngo\n", [IS_A], {"CREATE PROCEDURE": 1, "CREATE TABLE in a routine": 1}),
    ("tsql", "exec sp_addtype 'code', 'varchar(11)', 'NOT NULL'\ngo\ncreate table a (x code)\ngo", ["a (): x varchar(11)!"], {}),
    ("tsql", "create table a (x int not null, y as (x * 2), constraint u unique (y))\ncreate unique index i on a (y)\ncreate unique index j on a (x)", ["a (x): x integer!"], {}),
    ("db2", "connect to shop;\n!ls;\n--#SET TERMINATOR @\ncreate trigger t after insert on a begin atomic set x = 1; end@\ncreate table a (x integer not null primary key)@\nreorg table a@\nterminate@\n", ["A (x): x integer!"], {"CONNECT": 1, "CLP command": 1, "CREATE TRIGGER": 1, "REORG": 1, "TERMINATE": 1}),
    ("db2", "set schema shop;\nbegin atomic\n  declare n int;\n  set n = 1;\nend;\ncreate table a (x integer not null primary key);\ncreate distinct type euro as decimal(9,2) with comparisons;\ncreate table b (x euro);", ["SHOP.A (x): x integer!", "SHOP.B (): x decimal(9,2)"], {"SET": 1, "block of statements": 1}),
    ("postgres", "alter procedural language plpgsql owner to x;\nsecurity label for y on table a is 'z';\ncluster a;\n\\set x 1\nselect 1 \\gexec\ncreate event trigger e on ddl_command_end execute function f();\n<A>", [IS_A], {"ALTER LANGUAGE": 1, "SECURITY": 1, "CLUSTER": 1, "psql command": 1, "SELECT": 1, "CREATE EVENT TRIGGER": 1}),
    ("postgres", "create schema s create table a (x int) create table b (y int);\ncreate table c (z int);\ngrant create table, usage to u", ["s.a (): x integer", "s.b (): y integer", "c (): z integer"], {"CREATE SCHEMA": 1, "GRANT": 1}),
    ("postgres", "do $x$ begin\ncreate table b (x int); end $x$;\nselect E'it\\'s; ', $$it's;$$;\n/* a /* b; */ ' */\n<A>", [IS_A], {"DO": 1, "SELECT": 1, "CREATE TABLE in a quotation": 1}),
    ("sqlite", "pragma foreign_keys = 1;\ncreate trigger t after insert on a begin update a set x = 1; end;\n<A>", [IS_A], {"PRAGMA": 1, "CREATE TRIGGER": 1}),
]  # fmt: skip

SHAPES = [
    # tables in shapes of their database
    ("tsql", "create table [S].[A]([Id] [int] identity (1, 1) not null, [g] uniqueidentifier rowguidcol not null constraint [D] default (newid()), constraint [P] primary key clustered ([Id])) on [primary]", ["S.A (Id): Id integer!, g uuid!"]),
    ("tsql", "create table a (x varchar(11) not null\n constraint K primary key clustered, y int not null index i, z int constraint d default 5 with values)", ["a (x): x varchar(11)!, y integer!, z integer"]),
    ("tsql", "create table a (x int not null primary key nonclustered hash with (bucket_count = 9), g [sys].[geography] null, f datetime2 (7) generated always as row start not null, t datetime2 (7) generated always as row end not null, period for system_time (f, t)) with (system_versioning = on)", ["a (x): x integer!, g text, f timestamp(9)!, t timestamp(9)!"]),
    ("mysql", "create table t (p int not null, s int not null, o int, primary key (p));\nalter table t drop column s, drop index i, drop foreign key f, row_format = dynamic;", ["t (p): p integer!, o integer"]),
    ("mysql", "create table t (a int not null primary key) partition by range (a) (partition p values less than (5));\nalter table t add partition (partition q values less than (9));", ["t (a): a integer!"]),
    ("mysql", "create table T (Id int not null, A int);\nalter table t modify ID bigint not null, add primary key (ID), change A b int", ["T (Id): Id bigint!, b integer"]),
    ("oracle", "create table t (a number(9) constraint n not null using index tablespace x, b number(9) check (b in (1, 2)) deferrable initially deferred, c varchar2(9));\ncreate unique index i on t (case when b = 1 then c end);\nalter table T modify (C not null);\nalter table t move tablespace y;", ["T (): a integer!, b integer, c varchar(9)!"]),
    ("db2", "create table t (a char(4) not null with default 'x', b timestamp not null with default, c varchar(9) for bit data, d clob(10M) logged not compact, e integer not null primary key) volatile;\nalter table t volatile cardinality;\nalter table t data capture changes;", ["T (e): a varchar(4)!, b timestamp(6)!, c blob, d text, e integer!"]),
    ("postgres", "create type y as (id int, b text);\ncreate table t of y (id primary key);\ncreate table g (a postgis.geometry[], b public.vector(3), c oid[], d serial2)", ["t (id): id integer!, b text", "g (): a text[], b text, c bigint[], d smallint!"]),
]  # fmt: skip

BROKEN = [
    # what, database, script, the tables that are read all the same, and the line and text of each problem
    ("a column", "postgres", "<A>create table b (y int,\n z duck);\nalter table b add primary key (y);\ncreate table c (y int);", [IS_A, "c (): y integer"], [(3, "b.z: the type duck is not known")]),
    ("a constraint", "mysql", "<A>create table b (y int frob);\nalter table b add c int;\n" + "create table c (y int);", [IS_A, "c (): y integer"], [(2, "Expecting ) near 'frob'")]),
    ("a statement that changes a table", "postgres", "<A>create table b (y int);\nalter table b rename to c;\nalter table b add z int;", [IS_A], [(3, "found 'rename to c', expected ADD")]),
    ("a quotation", "postgres", "comment on table a is 'its;\n<A>create table c (t text default 'b');", [IS_A, "c (): t text"], [(1, "the ' is not closed")]),
    ("an even number of them", "mysql", "insert into z values ('it's');\n<A>insert into z values ('that's');\n", [IS_A], [(1, "the ' is not closed"), (3, "the ' is not closed")]),
    ("a comment", "postgres", "<A>/* to do\ncreate table c (x int);", [IS_A, "c (): x integer"], [(2, "the /* is not closed")]),
    ("a semicolon", "db2", "create table a (x int not null primary key)\ncreate table b (y int);", ["A (x): x integer!", "B (): y integer"], [(1, "expected ; before create in line 2")]),
    ("a bracket", "oracle", "create table a (x number(9),\ncreate table b (y number(9));", ["B (): y integer"], [(1, "Expecting ) for the bracket in line 1")]),
    ("the end of a trigger", "tsql", "<A>go\ncreate trigger t on a after insert as\nbegin\n update a set x = 1;\nend\n;\ncreate table c (x int);\n", [IS_A, "c (): x integer"], [(3, "has no end before the table in line 8: write GO after it")]),
    ("the end of a procedure", "tsql", "<A>go\ncreate procedure p as\nselect 1\n\ncreate table c (x int)\n", [IS_A, "c (): x integer"], [(3, "no end before the table in line 6")]),
    ("the slash after a trigger", "oracle", "create table a (x number(9));\ncreate trigger t before insert on a for each row\nbegin\n null;\n\ncreate table c (x number(9));", ["A (): x integer", "C (): x integer"], [(2, "no end before the table in line 6: write END;")]),
    ("the end of COPY", "postgres", "<A>copy a from stdin;\n1\n2\ncreate table c (x int);", [IS_A, "c (): x integer"], [(2, "the data after COPY do not end")]),
    ("another name", "mysql", "<A>rename table a to b;", [IS_A], [(2, "write the table with the name that it has after it")]),
    ("another name by a procedure", "tsql", "<A>exec sp_rename 'dbo.a.x', 'y', 'COLUMN'\n", [IS_A], [(2, "write the table as it is after it")]),
    ("a type, beside Windows paths", "tsql", "<A>insert a values (1, N'D:\\in\\2024\\a'), (2, N'D:\\in\\2024\\b'), (3, N'D:\\in\\c'), (4, N'D:\\in\\d\\')\ngo\ncreate table b (x duck)\ngo\ncreate table c (x int)\n", [IS_A, "c (): x integer"], [(4, "b.x: the type duck is not known")]),
    ("a word that no statement begins with", "mysql", "<A>craete table b (x int);", [IS_A], [(2, "'craete table b (x int)' is not understood as mysql")]),
]  # fmt: skip

OTHERS = [
    # a script, the database it is read as, the one whose it is, and by what it is known
    ("create table t (id number(4) not null primary key, d date, note varchar2(9));\nalter table t add supplemental log data (all) columns;", "postgres", "oracle", "VARCHAR2 is oracle's"),
    ("create database d;\ngo\nuse d;\nexec sys.sp_cdc_enable_db;\ncreate table t (id int identity(1001,1) not null primary key);\ngo\n", "postgres", "tsql", "tsql understands all of it"),
    ("create table db2inst1.t (id integer not null generated always as identity (start with 101, increment by 1) primary key, w float);", "postgres", "db2", "DB2INST1 is db2's"),
    ("create table t (id int unsigned);", "db2", "mysql", "mysql"),
    ("create table t (id bigserial, b bytea);", "mysql", "postgres", "postgres understands all of it"),
]  # fmt: skip


def with_a(script):
    """The script with the table a where it says so."""
    return script.replace("<A>", A).replace("<A//>", A.replace(";", "//"))


@pytest.mark.parametrize(("dialect", "script", "expected", "counted"), CLIENTS)
def test_what_clients_and_dump_tools_write_is_counted(dialect, script, expected, counted, tmp_path):
    made = read(tmp_path, with_a(script), dialect)
    assert made.problems == []
    assert [told(table) for table in made.tables] == expected
    assert counted.items() <= made.skipped.items()


@pytest.mark.parametrize(("dialect", "script", "expected"), SHAPES)
def test_tables_are_read_as_their_database_writes_them(dialect, script, expected, tmp_path):
    made = read(tmp_path, script, dialect)
    assert made.problems == []
    assert [told(table) for table in made.tables] == expected


@pytest.mark.parametrize(("dialect", "script", "expected", "problems"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])  # fmt: skip
def test_beside_a_problem_the_other_tables_are_read(dialect, script, expected, problems, tmp_path):
    made = read(tmp_path, with_a(script), dialect)
    assert [told(table) for table in made.tables] == expected
    assert [problem.line for problem in made.problems] == [line for line, _ in problems]
    for problem, (_, text) in zip(made.problems, problems, strict=True):
        assert text in str(problem)


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "oracle", "tsql", "db2"])
def test_no_table_is_swallowed_in_any_dialect(dialect, tmp_path):
    script = "<A>create trigger t after insert on a\n begin\n  update a set x = 1;\n end\n;\ncreate table c (x int not null);\n"
    made = read(tmp_path, with_a(script), dialect)
    assert len(made.tables) == 2 or made.problems != []


@pytest.mark.parametrize(("script", "read_as", "whose", "by"), OTHERS)
def test_a_script_of_another_database_is_a_problem_that_names_it(script, read_as, whose, by, tmp_path):
    problems = read(tmp_path, script, read_as).problems
    assert by in str(problems[-1])
    assert f"sql_dialect: {whose}}}]" in str(problems[-1])
    assert read(tmp_path, script, whose).problems == []


SIGNS = ["\\", "'", '"', "`", "[", "]", "(", ")", "{", "$", "$a", "$a$", "/*", "*/", "--", "--\n", "#", "@", "@\n", "!", ":", ";", "/\n", "\n", " ", "\t", "\x00", "\\.", "\\'", "''", "q'", "N'", "E'", "<", "-", "D:\\a\\', '", "é", "\U0001f600", "a.", "x::"]  # fmt: skip
WORDS = ["go\n", "create ", "create table ", "create table t(", "alter table t ", "begin ", "end ", "case ", "if ", "identity(", "insert ", "copy a from stdin;\n", "delimiter ", "--#SET TERMINATOR ", "nextval(", "number ", "enum(", "create trigger t ", "referencing set a.b "]  # fmt: skip
ENDLESS = """
import resource, sys, time
from integrator.tables.sql import ddl
resource.setrlimit(resource.RLIMIT_CPU, (300, 300))
for part in SIGNS:
    started = time.process_time()
    ddl.read("x.sql", part * 10_000, sys.argv[1])
    if part in "([{<" or time.process_time() - started > 0.3:
        ddl.read("x.sql", part * 100_000, sys.argv[1])
for part in (*SIGNS, *WORDS):
    many = part * 1_000
    for text in (many, "create table t (a int default '" + many, "select " + many + ";\\ncreate table u (a int);\\n"):
        ddl.read("x.sql", text, sys.argv[1])
print("read")
"""


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "oracle", "tsql", "db2", "sqlite"])
def test_many_of_each_odd_sign_are_read_in_steps_that_grow_with_them_only(dialect):
    """10,000 take less than 0.1 s. With steps that grow with their square they take half a minute, and 100,000 an hour: those
    that take longer than 0.3 s are tried by 100,000, and those that may nest; all of them have five minutes.
    """
    code = f"SIGNS = {SIGNS!r}\nWORDS = {WORDS!r}\n{ENDLESS}"
    done = subprocess.run([sys.executable, "-c", code, dialect], capture_output=True, text=True, check=False)
    assert done.stdout == "read\n", done.stderr[-2000:]
