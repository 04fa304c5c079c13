"""Mistakes in actions: names, parameters, where they hold."""

from tests.unit.broken_channels.contract import broken
from tests.unit.broken_channels.edits import more

CASES = [
    broken(
        "an action is misspelled",
        ("action: Integrate", "action: Intergrate"),
        "28: $.actions[2].action: 'Intergrate' is no action; do you mean Integrate?",
        ("Intergrate", "Integrate"),
    ),
    broken(
        "an action in small letters",
        more("{action: columnproperties, Name: email, Absent: true, table: customers}"),
        "28: $.actions[2].action: 'columnproperties' is no action; do you mean ColumnProperties?",
        ("columnproperties", "ColumnProperties"),
    ),
    broken(
        "the key action is missing",
        more("{Name: email, Absent: true, table: customers}"),
        "28: $.actions[2].action: the key action is missing; do you mean action: ColumnProperties?",
        ("{Name: email", "{action: ColumnProperties, Name: email"),
    ),
    broken(
        "an action that is a setting here",
        more("{action: AdaptDDL}"),
        "28: $.actions[2].action: HVR's AdaptDDL is a setting of the source location: unknown_columns: add (or unknown_columns: ignore); accepted are ColumnPro…Restrict, Scheduling, Environment",
        ("  - {action: AdaptDDL}\n", ""),
    ),
    broken(
        "a parameter is misspelled",
        more("{action: ColumnProperties, Name: x, Extra: true, Datatype: text, IntegrateExpresion: a}"),
        "28: $.actions[2].IntegrateExpresion: this key is not known here; do you mean IntegrateExpression?",
        ("IntegrateExpresion", "IntegrateExpression"),
    ),
    broken(
        "a parameter of another action",
        more("{action: ColumnProperties, Name: email, table: customers, TrimWhiteSpace: true}"),
        "28: $.actions[2].TrimWhiteSpace: this key, of HVR, is not known here: a parameter of TableProperties",
        ("{action: ColumnProperties, Name: email,", "{action: TableProperties,"),
    ),
    broken(
        "a parameter of file targets",
        more("{action: Integrate, MaxFileSize: 1000000, Verbose: true}"),
        [
            "28: $.actions[2].MaxFileSize: this key, of HVR, is not known here: for file targets; here HVR_KAFKA_MSG_MAX_BYTES, or Kafka_Message_Bundling_Threshold",
            "28: $.actions[2].Verbose: this key, of HVR, is not known here: for file targets; here the option --debug",
        ],
        ("MaxFileSize: 1000000, Verbose: true", "Delay: 5"),
        own="Delay",
    ),
    broken(
        "a parameter for capture jobs",
        more("{action: Scheduling, CaptureStartTimes: '0 * * * *', StatsHistory: SIZE}"),
        [
            "28: $.actions[2].CaptureStartTimes: this key, of HVR, is not known here: not there: a database is captured all the time; use IntegrateStartTimes",
            "28: $.actions[2].StatsHistory: this key, of HVR, is not known here: nothing is kept here: Prometheus keeps the monitor's /metrics (docs/operations/monitoring.md)",
        ],
        ("CaptureStartTimes: '0 * * * *', StatsHistory: SIZE", "IntegrateStartTimes: '0 * * * *'"),
    ),
    broken(
        "a table is misspelled",
        more("{action: ColumnProperties, Name: email, table: custmers, Absent: true}"),
        "28: $.actions[2].table: 'custmers' is no table or table group; do you mean customers?",
        ("custmers", "customers"),
    ),
    broken(
        "a table with its schema",
        more("{action: ColumnProperties, Name: email, table: public.customers, Absent: true}"),
        "28: $.actions[2].table: 'public.customers' is no table or table group; do you mean customers?",
        ("public.customers", "customers"),
    ),
    broken(
        "a table with capitals",
        more("{action: ColumnProperties, Name: email, table: CUSTOMERS, Absent: true}"),
        "28: $.actions[2].table: 'CUSTOMERS' is no table or table group; do you mean customers?",
        ("CUSTOMERS", "customers"),
    ),
    broken(
        "a group is misspelled",
        more("{action: ColumnProperties, Name: email, table: customers, group: KAFAK, Absent: true}"),
        "28: $.actions[2].group: 'KAFAK' is no location or location group; do you mean KAFKA?",
        ("KAFAK", "KAFKA"),
    ),
    broken(
        "an action that does nothing",
        more("{action: ColumnProperties, Name: email, table: customers}"),
        "28: $.actions[2]: has no effect: none of its parameters is set; they are BaseName, Extra, Absent, CaptureExpression, CaptureExpressionType…Length, Precision, Scale, Nullable",
        ("Name: email,", "Name: email, Absent: true,"),
        own="true",
    ),
    broken(
        "two actions that disagree",
        more("{action: Integrate, group: KAFKA, CycleByteLimit: 5}"),
        "31: $.actions[3].CycleByteLimit: CycleByteLimit is 10000000 here and 5 at $.actions[2], equally specific; keep one, or narrow its scope",
        ("  - {action: Integrate, group: KAFKA, CycleByteLimit: 5}\n", ""),
    ),
    broken(
        "an action of the location for one table",
        more("{action: Integrate, table: orders, Delay: 5}"),
        "28: $.actions[2].table: Delay of Integrate holds for the whole location: table must be *",
        ("table: orders, ", ""),
    ),
    broken(
        "all tables are absent",
        more("{action: TableProperties, Absent: true}"),
        "12: $.tables: no table is sent: all of them are Absent; leave TableProperties Absent out for one",
        ("Absent: true}", "Absent: true, table: audit}"),
        own="audit",
    ),
    broken(
        "a parameter where it does nothing",
        more("{action: ColumnProperties, group: SOURCE, Name: x, Extra: true, Datatype: text}"),
        "28: $.actions[2].group: Datatype, Extra do nothing at 'SOURCE'; write KAFKA, kaf or *",
        ("group: SOURCE", "group: KAFKA"),
    ),
    broken(
        "an unknown variable",
        more("{action: Environment, Name: HVR_KAFKA_BROKER_VERSION, Value: '0.9.0.0'}"),
        "28: $.actions[2].Name: 'HVR_KAFKA_BROKER_VERSION' is not one of 'HVR_KAFKA_MSG_MAX_BYTES', 'HVR_KAFKA_MSG_DELIVERY_TIMEOUT'…producer: leave the action out",
        ("  - {action: Environment, Name: HVR_KAFKA_BROKER_VERSION, Value: '0.9.0.0'}\n", ""),
    ),
    broken(
        "a misspelled variable",
        more("{action: Environment, Name: HVR_KAFKA_PROPERTIES, Value: linger.ms=5}"),
        "28: $.actions[2].Name: 'HVR_KAFKA_PROPERTIES' is not one of 'HVR_KAFKA_MSG_MAX_BYTES', 'HVR_KAFKA_MSG_DELIVERY_TIMEOUT'…do you mean HVR_KAFKA_PROPERTY?",
        ("HVR_KAFKA_PROPERTIES", "HVR_KAFKA_PROPERTY"),
    ),
    broken(
        "a context with capitals",
        more("{action: ColumnProperties, Name: email, table: customers, Absent: true, Context: Masked}"),
        "28: $.actions[2].Context: 'Masked' is no context: it has lower-case letters, digits and underscores, a letter first; write masked",
        ("Masked", "masked"),
    ),
    broken(
        "true in words",
        more("{action: ColumnProperties, Name: email, table: customers, Absent: 1}"),
        "28: $.actions[2].Absent: true or false is wanted here, without quotes: write true",
        ("Absent: 1", "Absent: true"),
    ),
]
