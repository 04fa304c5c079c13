"""Whose SQL a script is in: by words and signs that only one database has.

They are searched for outside of comments and quotations, in one pass over the text, and count by their kinds.
"""

from __future__ import annotations

import re
from functools import lru_cache

SQL = ("postgres", "mysql", "oracle", "tsql", "db2")
"""The databases that are distinguished, in the order in which they are tried."""

_WORDS = {
    "postgres": """
        BYTEA TIMESTAMPTZ TIMETZ JSONB BIGSERIAL SMALLSERIAL SEARCH_PATH PLPGSQL REGCLASS TSVECTOR CITEXT HSTORE
        INHERITS BPCHAR PG_CATALOG TSRANGE DATERANGE INT4RANGE PGCRYPTO DEFAULT_TABLESPACE
        STANDARD_CONFORMING_STRINGS CLIENT_ENCODING
    """,
    "mysql": """
        AUTO_INCREMENT INNODB MYISAM UNSIGNED ZEROFILL MEDIUMINT MEDIUMTEXT LONGTEXT TINYTEXT MEDIUMBLOB LONGBLOB
        TINYBLOB UTF8MB4 UTF8MB3 ROW_FORMAT FOREIGN_KEY_CHECKS SQL_MODE UNIQUE_CHECKS
    """,
    "oracle": """
        VARCHAR2 NVARCHAR2 BINARY_FLOAT BINARY_DOUBLE XMLTYPE SYSDATE SYSTIMESTAMP SYS_GUID EDITIONABLE NOLOGGING
        SDO_GEOMETRY MDSYS DBMS_OUTPUT INITRANS UROWID VARRAY SERVEROUTPUT CTXSYS PCTUSED NOPARALLEL DBMS_STATS
    """,
    "tsql": """
        UNIQUEIDENTIFIER DATETIME2 DATETIMEOFFSET SMALLDATETIME SMALLMONEY NONCLUSTERED ROWGUIDCOL GETDATE NEWID
        SYSNAME NTEXT HIERARCHYID TEXTIMAGE_ON NOCHECK RAISERROR SYSOBJECTS DBO QUOTED_IDENTIFIER ANSI_NULLS
        SQL_VARIANT NOCOUNT SYSUTCDATETIME SP_CDC_ENABLE_TABLE SP_CDC_ENABLE_DB DATABASEPROPERTYEX
    """,
    "db2": """
        SYSIBM SYSPROC SYSCAT SYSTOOLS DB2INST1 DECFLOAT DBCLOB VARGRAPHIC ADMIN_CMD BUFFERPOOL USERSPACE1
        CODEUNITS32 ASNCDC
    """,
}
_OF_WORD = {word: database for database, words in _WORDS.items() for word in words.split()}
_SIGNS = {
    "postgres": {
        "::": r"\w::\w",
        "\\": r"^\\[a-z!]",
        "nextval('": r"\bnextval\s*\(\s*'",
        "OWNER TO": r"\bowner\s+to\b",
        "without time zone": r"\bwithout\s+time\s+zone\b",
        "CREATE EXTENSION": r"\bcreate\s+extension\b",
        "$$": r"\bas\s+\$\w*\$",
        "AS ENUM": r"\bas\s+enum\b",
        "CREATE DOMAIN": r"\bcreate\s+domain\b",
        "[]": r"\w\[\]",
    },
    "mysql": {
        "`": "`",
        "ENGINE =": r"\)[^;()]{0,99}\bengine\s*=",
        "ENUM (": r"\s(?<!as )(?:enum|set)\s*\(\s*'",
        "DELIMITER": r"^delimiter\b",
        "/*!": r"/\*!\d",
        "TINYINT (": r"\btinyint\s*\(",
        "CHARSET": r"\bdefault\s+charset\b|\bcharacter\s+set\s+\w",
        "LOCK TABLES": r"^(?:un)?lock\s+tables\b",
        "COMMENT": r"\scomment\s+'",
        "KEY": r"^[ \t]*(?:unique\s+)?key\s+\w+\s*\(",
    },
    "oracle": {
        "NUMBER": r"\snumber\s*(?:\(\s*[\d*]|,|\n|\)|\bnot\b|\bdefault\b|\bconstraint\b)",
        "/": r"^/[ \t]*$",
        "SUPPLEMENTAL LOG": r"\bsupplemental\s+log\b",
        "SQL*Plus": r"^(?:prompt|rem|set\s+(?:define|echo|feedback|serveroutput))\b",
        ".nextval": r"\w\.nextval\b",
        "BYTE": r"\(\s*\d+\s+(?:byte|char)\s*\)",
        "ENABLE": r"\benable\s*(?:,|\))",
        "c##": r"\bc##\w",
        "USING INDEX": r"\busing\s+index\s+(?:tablespace|pctfree)\b",
    },
    "tsql": {
        "GO": r"^[ \t]*go[ \t]*;?[ \t]*$",
        "[": r"[\s.(,]\[[a-z_][^\]\[]*\](?:[\s.),]|$)",
        "IDENTITY": r"\bidentity\s*\(\s*\d+\s*,",
        "(max)": r"\(\s*max\s*\)",
        "EXEC": r"^[ \t]*exec(?:ute)?\s+(?:sys\.|dbo\.)?sp_",
        "CLUSTERED": r"\bclustered\s*\(",
        ":setvar": r"^:[a-z]+\s",
        "@": r"\bdeclare\s+@\w",
        "OBJECT_ID (": r"\bobject_id\s*\(",
        "PRINT": r"^[ \t]*print\s*'",
    },
    "db2": {
        "FOR BIT DATA": r"\bfor\s+bit\s+data\b",
        "WITH DEFAULT": r"\bwith\s+default\b",
        "DATA CAPTURE": r"\bdata\s+capture\s+(?:changes|none)\b",
        "CURRENT TIMESTAMP": r"\bcurrent\s+timestamp\b",
        "CONNECT": r"^connect\s+(?:to|reset)\b",
        "START WITH 1, INCREMENT BY 1": r"\bstart\s+with\s+\d+\s*,\s*increment\b",
        "ORGANIZE BY": r"\borganize\s+by\s+(?:row|column)\b",
        "@": r"@[ \t]*$",
        "GRAPHIC (": r"\sgraphic\s*\(",
        "OCTETS": r"\(\s*\d+\s+octets\s*\)",
        "MODE DB2SQL": r"\bmode\s+db2sql\b",
        "NO CASCADE BEFORE": r"\bno\s+cascade\s+before\b",
        "SET NEW": r"\breferencing\b[^;]{0,200}\bset\s+\w+\.\w+\s*=",
        "TERMINATOR": r"--#set\s+terminator",
        "1M": r"[bc]lob\s*\(\s*\d+\s*[kmg]\s*\)",
        "NOT LOGGED": r"\bnot\s+logged\b",
        "TERMINATE": r"^terminate\s*;",
        "SET SCHEMA": r"^set\s+(?:current\s+)?schema\b",
        "COMPRESS YES": r"\bcompress\s+yes\b",
    },
}
_PATTERNS = {
    database: {sign: re.compile(pattern, re.IGNORECASE | re.MULTILINE) for sign, pattern in signs.items()}
    for database, signs in _SIGNS.items()
}
_RAW = {"/*!", "nextval('", "TERMINATOR", "PRINT", "COMMENT", "ENUM ("}
_HIDDEN = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)|'[^'\n]*'", re.DOTALL)
_DATA = re.compile(r"^[ \t]*(?:insert\b|\()[^\n]*", re.IGNORECASE | re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w+")


@lru_cache(maxsize=4)
def marks_of(text: str) -> dict[str, dict[str, int]]:
    """Return what of a script only one database has, by database, and the line where it is first."""
    text = _DATA.sub("", text)
    code = _HIDDEN.sub(lambda found: "\n" * found[0].count("\n"), text)
    marks: dict[str, dict[str, int]] = {database: {} for database in SQL}
    for found in _WORD.finditer(code):
        database = _OF_WORD.get(found[0].upper())
        if database and found[0].upper() not in marks[database]:
            marks[database][found[0].upper()] = code.count("\n", 0, found.start()) + 1
    for database, patterns in _PATTERNS.items():
        for sign, pattern in patterns.items():
            searched = text if sign in _RAW else code
            if place := pattern.search(searched):
                marks[database][sign] = searched.count("\n", 0, place.end()) + 1
    return marks


_SHARED = {
    "SERIAL": ("postgres",),
    "DATETIME": ("mysql", "tsql"), "TINYINT": ("mysql", "tsql"), "NVARCHAR": ("tsql",), "CLOB": ("oracle", "db2"),
    "BLOB": ("mysql", "oracle", "db2"), "BOOLEAN": ("postgres", "mysql"), "TEXT": ("postgres", "mysql"),
}  # fmt: skip
"""What several databases have, and the others not: it decides where there is nothing else."""


_NAMED = {
    "postgres": r"postgres|pgsql",
    "mysql": r"mysql|mariadb",
    "oracle": r"oracle",
    "tsql": r"sql[ _-]?server|mssql",
    "db2": r"db2",
}
_HEADER = 2000
"""How many characters of a script are inspected for the name of a database in a comment."""


def database_of(text: str) -> str | None:
    """Return whose SQL a script is in: that of the database of which it has most; None where it has of none, or two."""
    marks = marks_of(text)
    first, second = sorted(SQL, key=lambda one: -len(marks[one]))[:2]
    return first if len(marks[first]) > len(marks[second]) else None


def candidates(text: str, file: str) -> tuple[list[str], bool]:
    """Return the databases whose SQL a script may be in, and whether that is known by what only one of them has.

    file: the script's name, which may name a database, as comments at its beginning may.
    """
    marks, only = marks_of(text), database_of(text)
    if only is not None:
        return [only], True
    words = {found[0].upper() for found in _WORD.finditer(_HIDDEN.sub(" ", _DATA.sub("", text)))}
    comments = [found[0] for found in _HIDDEN.finditer(text[:_HEADER]) if found[0][0] != "'"]
    named = " ".join([file, *comments]).lower()
    score = {
        one: (
            len(marks[one]),
            len(re.findall(_NAMED[one], named)),
            sum(one in _SHARED[word] for word in words & _SHARED.keys()),
        )
        for one in SQL
    }
    return [one for one in SQL if score[one] == max(score.values())], False
