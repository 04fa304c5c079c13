"""Mistakes in YAML itself."""

from tests.unit.broken_channels.contract import CHANNEL, GOOD, broken

CASES = [
    broken(
        "a tab indents",
        ("    path: in", "\tpath: in"),
        "5: broken YAML: lines are indented with blanks, not with tabs (found character '\\t' that cannot start any token)",
        ("\tpath: in", "    path: in"),
    ),
    broken(
        "a quote is not closed",
        ('"shop.{hvr_tbl_name}"', '"shop.{hvr_tbl_name}'),
        "10: broken YAML: a quote that begins in this line does not end in it (expected <block end>, but found '{')",
        ('"shop.{hvr_tbl_name}', '"shop.{hvr_tbl_name}"'),
    ),
    broken(
        "a bracket is not closed",
        ("[shop.sql]", "[shop.sql"),
        "12: broken YAML: what begins with a bracket in this line does not end with ] (expected ',' or ']', but got ':')",
        ("[shop.sql", "[shop.sql]"),
    ),
    broken(
        "no blank after a colon",
        ("Name: op_val", "Name:op_val"),
        "17: broken YAML: a key's colon has a blank after it (could not find expected ':')",
        ("Name:op_val", "Name: op_val"),
    ),
    broken(
        "a key is indented less than its neighbours",
        ("    dialect: wal2json", "  dialect: wal2json"),
        "6: $.locations.dialect: a location is a mapping; is it a key of the one above? indent it as those are",
        ("  dialect: wal2json", "    dialect: wal2json"),
    ),
    broken(
        "a key is given twice",
        ("    path: in\n", "    path: in\n    path: out\n"),
        "6: $.locations.src.path: the key is given twice, in line 5 too; remove one of them",
        ("    path: out\n", ""),
    ),
    broken(
        "an expression without quotes",
        ('"{hvr_op}"', "{hvr_op}"),
        '20: $.actions[0].IntegrateExpression: text is wanted here: write "{hvr_op}", in quotes',
        (": {hvr_op}", ': "{hvr_op}"'),
    ),
    broken(
        "a template without quotes that continues",
        ('"shop.{hvr_tbl_name}"', "{hvr_tbl_name}.shop"),
        "10: broken YAML: a value that begins with { and continues after its bracket is written in quotes (expected <block end>, but found '<scalar>')",
        ("{hvr_tbl_name}.shop", '"{hvr_tbl_name}.shop"'),
    ),
    broken(
        "two braces without quotes",
        ("CycleByteLimit: 10000000", "MessageKey: {{hvr_key_names}}"),
        '30: $.actions[2].MessageKey: text is wanted here: write "{{hvr_key_names}}", in quotes',
        ("{{hvr_key_names}}", '"{{hvr_key_names}}"'),
    ),
    broken(
        "a star without quotes",
        ("    group: KAFKA", "    table: *"),
        "29: broken YAML: a value that begins with * is written in quotes: \"*\" (expected alphabetic or numeric character, but found '\\n')",
        ("table: *", 'table: "*"'),
    ),
    broken(
        "a percent sign without quotes",
        ('"{hvr_op}"', "%Y"),
        "20: broken YAML: a value that begins with % is written in quotes (found character '%' that cannot start any token)",
        ("%Y", '"{hvr_op}"'),
        own="hvr_op",
    ),
    broken(
        "a number where text is wanted",
        (
            "  - action: Integrate\n",
            "  - {action: Environment, Name: HVR_KAFKA_RATE_LIMIT, Value: 5000}\n  - action: Integrate\n",
        ),
        '28: $.actions[2].Value: text is wanted here: write "5000", in quotes',
        ("5000", '"5000"'),
    ),
    broken(
        "a word that YAML takes for true",
        ("channel: shop", "channel: on"),
        '1: $.channel: text is wanted here: write "on", in quotes',
        ("channel: on", 'channel: "on"'),
    ),
    broken(
        "a broker with a blank after its colon",
        ("localhost:9092", "localhost: 9092"),
        '9: $.locations.kaf.Kafka_Brokers[0]: text is wanted here, and a colon with a blank after it makes a mapping: write localhost:9092, or "localhost: 9092"',
        ("localhost: 9092", "localhost:9092"),
    ),
    broken(
        "nothing in the file",
        ("channel.yaml", "", ""),
        "1: is empty; a channel has channel, locations and tables",
        ("channel.yaml", "", GOOD[CHANNEL]),
    ),
    broken(
        "a list of channels",
        ("channel: shop", "- channel: shop"),
        "2: broken YAML: the keys of one mapping begin in the same column, and this line does not fit those above it (expected <block end>, but found '?')",
        ("- channel: shop", "channel: shop"),
    ),
]
