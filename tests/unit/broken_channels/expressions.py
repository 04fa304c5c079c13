"""Mistakes in expressions: substitutions, columns, SQL, types, conditions."""

from tests.unit.broken_channels.contract import broken
from tests.unit.broken_channels.edits import column, more

OP = '"{hvr_op}"'
CASES = [
    broken(
        "a substitution is misspelled",
        (OP, '"{hvr_opp}"'),
        "20: $.actions[0].IntegrateExpression: all 6 tables: {hvr_opp} is no substitution; do you mean {hvr_op}?",
        ("{hvr_opp}", "{hvr_op}"),
    ),
    broken(
        "a substitution of the source's own",
        column('"{hvr_tx_time}"'),
        "28: $.actions[2].IntegrateExpression: table customers: {hvr_tx_time} is no substitution; accepted are hvr_op, hvr_op_str, hvr_integ_seq…hvr_tbl_base_name, hvr_schema",
        ("{hvr_tx_time}", "{hvr_cap_tstamp}"),
    ),
    broken(
        "a substitution for refresh",
        column('"{hvr_opposite_loc}"'),
        "28: $.actions[2].IntegrateExpression: table customers: {hvr_opposite_loc}, of HVR: belongs to the conditions of refresh and compare",
        ("{hvr_opposite_loc}", "{hvr_cap_loc}"),
        own="hvr_cap_loc",
    ),
    broken(
        "Airbyte's words in an expression",
        column('"{namespace}"'),
        "28: $.actions[2].IntegrateExpression: table customers: {namespace}, of Airbyte: use {hvr_schema}, where the definition of each table names its schema",
        [("{namespace}", "{hvr_schema}"), ("shop.sql", "table customers(", "table SCHEMA.customers(")],
        own="SCHEMA",
    ),
    broken(
        "a column of an expression is misspelled",
        column('"{emial}"'),
        "28: $.actions[2].IntegrateExpression: table customers: {emial} is neither a substitution nor a column; do you mean {email}?",
        ("{emial}", "{email}"),
    ),
    broken(
        "a column of one table in all",
        more('{action: Integrate, MessageKey: "{email}"}'),
        "28: $.actions[2].MessageKey: tables orders, items, products and 2 more: {email} is neither a substitution nor a column; its columns are id, customer…it is right: write table: customers",
        ("MessageKey:", "table: customers, MessageKey:"),
    ),
    broken(
        "a brace is not closed",
        column('"{email"'),
        "28: $.actions[2].IntegrateExpression: table customers: '{email' is no substitution: it has no end; write {email}",
        ('"{email"', '"{email}"'),
    ),
    broken(
        "two braces end with one",
        column('"{{email}"'),
        "28: $.actions[2].IntegrateExpression: table customers: the braces around email do not match; write {email}, or {{email}} with two",
        ("{{email}", "{email}"),
    ),
    broken(
        "a substitution where it cannot be",
        more('{action: ColumnProperties, Name: email, table: customers, CaptureExpression: "{hvr_op}"}'),
        "28: $.actions[2].CaptureExpression: table customers: {hvr_op} cannot stand in a CaptureExpression; accepted there are hvr_cap_tstamp, hvr_cap_user…MessageKey, MessageHeaders",
        ("CaptureExpression", "IntegrateExpression"),
    ),
    broken(
        "a letter that formats no time",
        column('"{hvr_cap_tstamp %Q}"'),
        "28: $.actions[2].IntegrateExpression: table customers: {hvr_cap_tstamp %Q}: %Q is not known; accepted are %[localtime] or %[utc] first, then %a %b %d %H %j %m %M %s %S %T %U %V %w %W %y %Y",
        ("%Q", "%Y"),
    ),
    broken(
        "a format of Java's",
        column('"{hvr_cap_tstamp yyyy-MM-dd}"'),
        "28: $.actions[2].IntegrateExpression: table customers: {hvr_cap_tstamp yyyy-MM-dd}: a format has letters after %, such as %Y-%m-%d %H:%M:%S",
        ("yyyy-MM-dd", "%Y-%m-%d"),
    ),
    broken(
        "a mapping of operations that is none",
        column('"{hvr_op_str 0=D,1=I}"'),
        "28: $.actions[2].IntegrateExpression: table customers: '0=D,1=I' in {hvr_op_str} is no mapping; write CODE>TEXT;CODE>TEXT",
        ("0=D,1=I", "0>D;1>I"),
    ),
    broken(
        "a variable that the run does not have",
        column('"{hvr_var_region}"'),
        "28: $.actions[2].IntegrateExpression: table customers: {hvr_var_region} is a variable that this run does not have; give it: --variable NAME=VALUE",
        ("{hvr_var_region}", "EU"),
    ),
    broken(
        "SQL that does not end",
        column('"sql: lower(email"'),
        "28: $.actions[2].IntegrateExpression: table customers: sql: Expecting ). Line 1, Col: 11.",
        ("lower(email", "lower(email)"),
    ),
    broken(
        "SQL with a column that is misspelled",
        column('"sql: lower(emial)"'),
        "28: $.actions[2].IntegrateExpression: table customers: sql: 'emial' is neither a column nor a substitution that may stand in an IntegrateExpression; do you mean email?",
        ("emial", "email"),
    ),
    broken(
        "SQL with a function that is misspelled",
        column('"sql: lwer(email)"'),
        "28: $.actions[2].IntegrateExpression: table customers: sql: Error during planning: Invalid function 'lwer'. Did you mean 'lower'?",
        ("lwer", "lower"),
    ),
    broken(
        "SQL with a quoted substitution",
        column("\"sql: concat('{email}', 'x')\""),
        "28: $.actions[2].IntegrateExpression: table customers: sql: in '{email}' braces are text; write … || {name} || …",
        ("'{email}'", "{email}"),
    ),
    broken(
        "SQL of another type",
        column('"sql: length(email) > 3"', "date"),
        "28: $.actions[2].IntegrateExpression: table customers: sql: it gives boolean, which cannot become date; write Datatype: boolean, or a cast in SQL",
        ("Datatype: date", "Datatype: boolean"),
    ),
    broken(
        "SQL that gives text for a number",
        column('"sql: lower(email)"', "bigint"),
        "28: $.actions[2].IntegrateExpression: table customers: sql: it gives text, which cannot become bigint; write cast(… as bigint), or Datatype: text",
        ("Datatype: bigint", "Datatype: text"),
    ),
    broken(
        "SQL with a clock",
        column('"sql: now()"', "timestamptz"),
        "28: $.actions[2].IntegrateExpression: table customers: sql: a clock is not possible: an expression can use only its own row…is {hvr_integ_tstamp}, without sql:",
        ("sql: now()", "{hvr_integ_tstamp}"),
    ),
    broken(
        "SQL with a query",
        column('"sql: (select max(id) from orders)"', "integer"),
        "28: $.actions[2].IntegrateExpression: table customers: sql: a subquery is not possible: an expression can use only its own row, and must give the same result each time",
        ("(select max(id) from orders)", "id"),
    ),
    broken(
        "a text for a number",
        column("hello", "integer"),
        "28: $.actions[2].IntegrateExpression: table customers: 'hello' cannot become integer: expected digits; write one that is, or Datatype: varchar",
        ("hello", "'5'"),
    ),
    broken(
        "a substitution of another type",
        column('"{hvr_tbl_name}"', "bigint"),
        "28: $.actions[2].IntegrateExpression: table customers: {hvr_tbl_name} is text, and no bigint; write Datatype: varchar",
        ("Datatype: bigint", "Datatype: varchar"),
    ),
    broken(
        "a position that is too short",
        ("Length: 45", "Length: 36"),
        "27: $.actions[1].IntegrateExpression: all 6 tables: {hvr_integ_seq} has 45 characters; Length 36 is too short: write Length: 45",
        ("Length: 36", "Length: 45"),
    ),
    broken(
        "an operation that is none",
        more(
            '{action: ColumnProperties, Name: email, table: customers, IntegrateExpression: "x", ExpressionScope: "INSERT,UPDATE"}'
        ),
        "28: $.actions[2].ExpressionScope: table customers: 'UPDATE' is no operation of rows; do you mean UPDATE_AFTER?",
        ("INSERT,UPDATE", "INSERT,UPDATE_AFTER"),
    ),
    broken(
        "a DatatypeMatch that is misspelled",
        more("{action: ColumnProperties, DatatypeMatch: varchr, TrimDatatype: 9}"),
        "28: $.actions[2].DatatypeMatch: 'varchr' is no datatype; do you mean varchar?",
        ("varchr", "varchar"),
    ),
    broken(
        "a DatatypeMatch with an unknown condition",
        more('{action: ColumnProperties, DatatypeMatch: "varchar[length>20]", TrimDatatype: 9}'),
        "28: $.actions[2].DatatypeMatch: 'length>20' is no condition; write prec, scale, bytelen, charlen (a text's length), encoding or null, then = <> != < > <= >=, then a whole number or 'text'",
        ("length>20", "charlen>20"),
    ),
    broken(
        "a condition that is no condition",
        more('{action: Restrict, table: orders, CaptureCondition: "{total}"}'),
        "28: $.actions[2].CaptureCondition: table orders: sql: a condition is true or false, and this is decimal(9,2); compare it, as in … > 0",
        ('"{total}"', '"{total} > 0"'),
    ),
    broken(
        "a condition at the wrong place",
        more('{action: Restrict, table: orders, group: KAFKA, CaptureCondition: "{total} > 0"}'),
        "28: $.actions[2].group: CaptureCondition does nothing at 'KAFKA'; write SOURCE, src or *",
        ("group: KAFKA, C", "group: SOURCE, C"),
    ),
    broken(
        "an address that nobody has",
        more("{action: Restrict, table: orders, AddressTo: 'kaff'}"),
        "28: $.actions[2].AddressTo: table orders: 'kaff' does not match kaf, KAFKA or an alias (AddressSubscribe): no row is sent",
        ("kaff", "kaf"),
    ),
    broken(
        "headers that are none",
        more('{action: Integrate, MessageHeaders: "op:{hvr_op}"}'),
        "28: $.actions[2].MessageHeaders: 'op:{hvr_op}' is no header; write name=template;name=template",
        ("op:{hvr_op}", "op={hvr_op}"),
    ),
]
