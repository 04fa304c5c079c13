"""Every type × null, zero, extremes and odd text: a value, and what Connect JSON says of it. Other formats are compared
with the values themselves, by readers that are not ours (tests/wire).

(name, type, Arrow values, payload texts, what Kafka's JsonConverter reads: Connect type, logical name, value as text)
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from integrator import schema

DATA = "org.apache.kafka.connect.data."
MICRO = "io.debezium.time.Micro"

CASES = [
    (
        "boolean",
        schema.Boolean(),
        [True, False, None],
        ["true", "false", "null"],
        ("boolean", None, ["true", "false", None]),
    ),
    (
        "smallint",
        schema.Integer(16),
        [0, -32768, 32767, None],
        ["0", "-32768", "32767", "null"],
        ("int16", None, ["0", "-32768", "32767", None]),
    ),
    ("integer", schema.Integer(32), [-(2**31), None], ["-2147483648", "null"], ("int32", None, ["-2147483648", None])),
    (
        "bigint",
        schema.Integer(64),
        [2**63 - 1, -(2**63)],
        ["9223372036854775807", "-9223372036854775808"],
        ("int64", None, ["9223372036854775807", "-9223372036854775808"]),
    ),
    (
        "real",
        schema.Float(32),
        [0.0, 1.5, 3.4028234663852886e38, None],
        ["0", "1.5", "3.4028235e+38", "null"],
        ("float32", None, ["0.0", "1.5", "3.4028235E38", None]),
    ),
    (
        "double",
        schema.Float(64),
        [0.1, -1e-300, 1e300],
        ["0.1", "-1e-300", "1e+300"],
        ("float64", None, ["0.1", "-1.0E-300", "1.0E300"]),
    ),
    (
        "decimal(10,2)",
        schema.Decimal(10, 2),
        [Decimal("12.34"), Decimal("90.00"), Decimal("-0.01"), Decimal("0.00"), Decimal("99999999.99"), None],
        ['"BNI="', '"Iyg="', '"/w=="', '"AA=="', '"AlQL4/8="', "null"],
        ("bytes", DATA + "Decimal", ["12.34", "90.00", "-0.01", "0.00", "99999999.99", None]),
    ),
    (
        "decimal(76,10)",
        schema.Decimal(76, 10),
        [Decimal("1e-10"), Decimal("-" + "9" * 66 + "." + "9" * 10)],
        None,
        ("bytes", DATA + "Decimal", ["0.0000000001", "-" + "9" * 66 + "." + "9" * 10]),
    ),
    (
        "text",
        schema.String(),
        [
            "",
            "plain",
            'q"uote',
            "back\\slash",
            "new\nline\ttab\r\b\f",
            "\x00\x01\x1f",
            "Zoë 李雷 🚀",
            "</script>",
            "null",
            None,
        ],
        [
            '""',
            '"plain"',
            r'"q\"uote"',
            r'"back\\slash"',
            r'"new\nline\ttab\r\b\f"',
            r'"\u0000\u0001\u001f"',
            '"Zoë 李雷 🚀"',
            '"</script>"',
            '"null"',
            "null",
        ],
        (
            "string",
            None,
            [
                "",
                "plain",
                'q"uote',
                "back\\slash",
                "new\nline\ttab\r\b\f",
                "\x00\x01\x1f",
                "Zoë 李雷 🚀",
                "</script>",
                "null",
                None,
            ],
        ),
    ),
    (
        "blob",
        schema.Bytes(),
        [b"", b"\x00", b"\x00\xff", b"abc", None],
        ['""', '"AA=="', '"AP8="', '"YWJj"', "null"],
        ("bytes", None, ["", "00", "00ff", "616263", None]),
    ),
    (
        "date",
        schema.Date(),
        [0, 19782, -719162, None],
        ["0", "19782", "-719162", "null"],
        ("int32", DATA + "Date", ["0", str(19782 * 86_400_000), str(-719162 * 86_400_000), None]),
    ),
    (
        "time(3)",
        schema.Time("ms"),
        [0, 3723004, 86_399_999, None],
        ["0", "3723004", "86399999", "null"],
        ("int32", DATA + "Time", ["0", "3723004", "86399999", None]),
    ),
    ("time(6)", schema.Time("us"), [1, None], ["1", "null"], ("int64", MICRO + "Time", ["1", None])),
    (
        "timestamp(3)",
        schema.Timestamp("ms"),
        [1709168523004, -1, None],
        ["1709168523004", "-1", "null"],
        ("int64", DATA + "Timestamp", ["1709168523004", "-1", None]),
    ),
    (
        "timestamptz(6)",
        schema.Timestamp("us", zoned=True),
        [1768706130139317, None],
        ["1768706130139317", "null"],
        ("int64", MICRO + "Timestamp", ["1768706130139317", None]),
    ),
    (
        "text[]",
        schema.Array(schema.String()),
        [[], ["a", None, '"'], None],
        ["[]", r'["a",null,"\""]', "null"],
        ("array", None, [[], ["a", None, '"'], None]),
    ),
    (
        "decimal(4,1)[]",
        schema.Array(schema.Decimal(4, 1)),
        [[Decimal("1.0")], [None]],
        ['["Cg=="]', "[null]"],
        ("array", None, [["1.0"], [None]]),
    ),
    (
        "tinyint",
        schema.Integer(8),
        [0, -128, 127, None],
        ["0", "-128", "127", "null"],
        ("int8", None, ["0", "-128", "127", None]),
    ),
    (
        "bigint unsigned as decimal(20,0)",
        schema.Decimal(20, 0),
        [Decimal(0), Decimal(2**64 - 1), None],
        ['"AA=="', '"AP//////////"', "null"],
        ("bytes", DATA + "Decimal", ["0", "18446744073709551615", None]),
    ),
    (
        "decimal(18,18)",
        schema.Decimal(18, 18),
        [Decimal("0.999999999999999999"), Decimal("-0.000000000000000001"), Decimal("0e-18")],
        ['"DeC2s6dj//8="', '"/w=="', '"AA=="'],
        ("bytes", DATA + "Decimal", ["0.999999999999999999", "-0.000000000000000001", "0.000000000000000000"]),
    ),
    (
        "timestamp(9)",
        schema.Timestamp("ns"),
        [0, 1768706130139317042, -1, 9223372036854775807, None],
        ["0", "1768706130139317042", "-1", "9223372036854775807", "null"],
        (
            "int64",
            "io.debezium.time.NanoTimestamp",
            ["0", "1768706130139317042", "-1", "9223372036854775807", None],
        ),
    ),
    (
        "timestamptz(3)",
        schema.Timestamp("ms", zoned=True),
        [0, -62135596800000, 253402300799999, None],
        ["0", "-62135596800000", "253402300799999", "null"],
        ("int64", DATA + "Timestamp", ["0", "-62135596800000", "253402300799999", None]),
    ),
    (
        "interval",
        schema.Interval(),
        [(0, 0, 0), (14, 3, 14706789000000), (1, 0, 86400_000_000_000), None],
        ['"P0Y0M0DT0H0M0S"', '"P1Y2M3DT4H5M6.789S"', '"P0Y1M0DT24H0M0S"', "null"],
        ("string", None, ["P0Y0M0DT0H0M0S", "P1Y2M3DT4H5M6.789S", "P0Y1M0DT24H0M0S", None]),
    ),
    (
        "uuid",
        schema.String(36, "uuid"),
        ["6f1ed002-ab5e-4e1c-9f3a-0d5d1e2f3a4b", None],
        ['"6f1ed002-ab5e-4e1c-9f3a-0d5d1e2f3a4b"', "null"],
        ("string", None, ["6f1ed002-ab5e-4e1c-9f3a-0d5d1e2f3a4b", None]),
    ),
    (
        "json",
        schema.String(None, "json"),
        ['{"a":[1,"x"]}', "null", None],
        [r'"{\"a\":[1,\"x\"]}"', '"null"', "null"],
        ("string", None, ['{"a":[1,"x"]}', "null", None]),
    ),
    ("inet", schema.String(50, "inet"), ["::1/128"], ['"::1/128"'], ("string", None, ["::1/128"])),
    ("enum", schema.String(None, "enum"), ["sad", None], ['"sad"', "null"], ("string", None, ["sad", None])),
    (
        "bigint[]",
        schema.Array(schema.Integer(64)),
        [[1, -(2**63)], [], [0, None], None],
        ["[1,-9223372036854775808]", "[]", "[0,null]", "null"],
        ("array", None, [["1", "-9223372036854775808"], [], ["0", None], None]),
    ),
    (
        "struct",
        schema.Struct((schema.Column("a", schema.Integer(32)), schema.Column("b", schema.String()))),
        [{"a": 1, "b": "x"}, {"a": None, "b": None}, None],
        ['{"a":1,"b":"x"}', '{"a":null,"b":null}', "null"],
        ("struct", None, [{"a": "1", "b": "x"}, {"a": None, "b": None}, None]),
    ),
]


def array(kind: schema.Type, values: list) -> pa.Array:
    """The values in Arrow; times and dates are given as integers."""
    wanted = schema.arrow_type(kind)
    if isinstance(kind, schema.Interval):
        return pa.array([None if value is None else pa.MonthDayNano(value) for value in values], wanted)
    if pa.types.is_temporal(wanted):
        return pa.array(values, pa.int32() if wanted.bit_width == 32 else pa.int64()).cast(wanted)
    return pa.array(values, wanted)
