"""HVR's names that are missing or elsewhere here (https://fivetran.com/docs/hvr6/action-reference)."""

from __future__ import annotations

from integrator.names.contract import named

_CONTINUOUS = "not for Kafka, which is integrated continuously"
_FILES = "for file targets"
_FILES_AND_DATABASES = "for file and database targets"
_DATABASES = "for target databases"
_CAPTURED = "not there: PostgreSQL, MySQL and MariaDB are captured by their logs alone"
_CONVERTER = (
    'not there: values are changed by SQL (IntegrateExpression: "sql: …"), their shape by FileFormat; a program that '
    "converts whole messages reads the topic, and writes another"
)
_LOOKUP = "not there: a condition sees the row alone; use Restrict with AddressTo or CaptureCondition"
_DB2_FOR_I = "is of Db2 for i only"
_CONDITIONS = "belongs to the conditions of refresh and compare"
_SOURCE_FILES = "not there: path, pattern and ignore of the source location say which change files there are"

ACTIONS = {
    "AdaptDDL": "is a setting of the source location: unknown_columns: add (or unknown_columns: ignore)",
    "AgentPlugin": "is not supported: a script around integrate --once does what it did before and after cycles (each "
    "command returns an exit code and logs JSON, with rows by table and operation); SQL changes rows",
    "CollisionDetect": "is for target databases",
    "DbObjectGeneration": "is for target databases",
    "DbSequence": "is for target databases",
    "Transform": 'is not supported: SQL changes rows (IntegrateExpression: "sql: …"), and Restrict skips them; a '
    "command of your own reads the topic, and writes another",
}

PARAMETERS = {
    "RefreshJoinCondition": "not there: write the join as a subquery in RefreshCondition",
    "AccessDelay": "here Integrate Delay",
    "AvroCompression": "now BlockCompress of FileFormat",
    "BucketsCount": _DATABASES,
    "Burst": _CONTINUOUS,
    "BurstCommitFrequency": _CONTINUOUS,
    "CaptureConverter": "not there: change files are read as they are",
    "CaptureConverterArguments": "not there: change files are read as they are",
    "ComparePattern": "not there: all tables are compared",
    "DynamicHorizLookup": _LOOKUP,
    "HashKey": _CAPTURED,
    "HorizLookupTable": _LOOKUP,
    "IgnoreSizeChanges": _SOURCE_FILES,
    "IntegrateStartAfterCapture": "not needed: the daemon integrates changes as they come; or use IntegrateStartTimes",
    "JournalBurstTable": _CONTINUOUS,
    "KeyName": _DATABASES,
    "KeyOnlyCaptureTable": _CAPTURED,
    "LogReadMethod": _CAPTURED,
    "LogTruncate": _CAPTURED,
    "MapEmptyDateToConstant": _DATABASES,
    "MessageCompress": "here Kafka_Message_Compress of the Kafka location",
    "Pattern": _SOURCE_FILES,
    "QuickToggle": _CAPTURED,
    "SupplementalLogging": _CAPTURED,
    "TableName": "here BaseName of TableProperties, or Integrate Topic",
    "ToggleFrequency": _CAPTURED,
    "TriggerBased": _CAPTURED,
    "CaptureFromRowId": "not possible: change files have no row ids",
    "CaptureOnceOnStart": "not there: a database is captured all the time; use IntegrateOnceOnStart",
    "CaptureStartTimes": "not there: a database is captured all the time; use IntegrateStartTimes",
    "Coalesce": "here a parameter of Capture",
    "CompareCondition": "not there: all rows are compared",
    "CompareStartTimes": "here compare --follow",
    "CreateUnicodeDatatypes": _DATABASES,
    "DbProc": _DATABASES,
    "DeleteAfterCapture": "not there: change files are yours to keep",
    "DistributionKeyAvoidPattern": "a parameter of TableProperties",
    "DistributionKeyLimit": "a parameter of TableProperties",
    "DuplicateRows": "not needed: a table without a key has all its columns as key (Key gives it one)",
    "ErrorOnOverwrite": _FILES,
    "HashBuckets": _DATABASES,
    "HorizColumn": "here Restrict with AddressTo or CaptureCondition",
    "Identity": _DATABASES,
    "IgnoreCoerceError": "here CoerceErrorPolicy: SILENT of TableProperties",
    "IgnoreSessionName": "not there: logs do not name sessions",
    "IntegrateCondition": "for target databases; here CaptureCondition, or AddressTo",
    "IntegrateConverter": _CONVERTER,
    "IntegrateConverterArguments": _CONVERTER,
    "JournalRouterFiles": "not there: change files are yours to keep",
    "MapEmptyStringToSpace": _DATABASES,
    "MaxFileSize": "for file targets; here HVR_KAFKA_MSG_MAX_BYTES, or Kafka_Message_Bundling_Threshold",
    "Method": "not needed: Kafka is integrated continuously",
    "NoDuplicateRows": "not needed: a table without a key has all its columns as key (Key gives it one)",
    "NoTriggerFiring": _DATABASES,
    "NoUpdate": "here IgnoreUpdateCondition: 'true' of Capture",
    "OnErrorSaveFailed": "for target databases; here errors: {tolerance: all} of the channel",
    "OrderByTable": _FILES_AND_DATABASES,
    "ParallelSessions": "not there: Spark reads change files in parallel",
    "PartitionKeyOrder": _DATABASES,
    "RefreshStartTimes": "not there: run the command refresh when you want",
    "RenameExpression": "for file targets; here Integrate Topic",
    "ReorderRows": _FILES_AND_DATABASES,
    "Resilient": "without effect where each change is a message",
    "RowGroupThreshold": "not there: a message is one row in Parquet",
    "SelectDistinct": "not there: a refresh sends the rows that are there",
    "SessionName": _DATABASES,
    "StatsHistory": "nothing is kept here: Prometheus keeps the monitor's /metrics (docs/operations/monitoring.md)",
    "TimeContext": "not there: LatencySLA holds always",
    "TrimWhiteSpace": "a parameter of TableProperties",
    "TxBundleSize": "for target databases; here Kafka_Message_Bundling",
    "TxSplitLimit": "for target databases; here Kafka_Message_Bundling",
    "UseDirectoryTime": _SOURCE_FILES,
    "IgnorePattern": _SOURCE_FILES,
    "IgnoreUnterminated": _SOURCE_FILES,
    "Verbose": "for file targets; here the option --debug",
}

VARIABLES = {
    "HVR_KAFKA_BROKER_VERSION": "for brokers of 0.9, which know no idempotent producer: leave the action out",
}

SUBSTITUTIONS = {
    "hvr_tx_sequence_number": _DB2_FOR_I,
    "hvr_cap_job": _DB2_FOR_I,
    "hvr_cap_program": _DB2_FOR_I,
    "hvr_cap_journal": _DB2_FOR_I,
    "hvr_cap_journal_code": _DB2_FOR_I,
    "hvr_local_loc": _CONDITIONS,
    "hvr_opposite_loc": _CONDITIONS,
    "hvr_integ_loc": "is of a plug-in of HVR's; write the location's name",
    "hvr_key_values": "is not HVR's; {{hvr_key_names}} is the values of the key",
}

NAMES = [
    *named("HVR", "action", ACTIONS),
    *named("HVR", "parameter", PARAMETERS),
    *named("HVR", "variable", VARIABLES),
    *named("HVR", "substitution", SUBSTITUTIONS),
]
