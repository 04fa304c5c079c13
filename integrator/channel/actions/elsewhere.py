"""HVR's actions and parameters that are missing or elsewhere here, and why (https://fivetran.com/docs/hvr6/action-reference)."""

from __future__ import annotations

ABSENT_ACTIONS: dict[str, str] = {
    "AdaptDDL": "is a setting of the source location: unknown_columns: add (or unknown_columns: ignore)",
    "AgentPlugin": "is not supported: run.py returns an exit code and logs JSON, for scripts around it",
    "CollisionDetect": "is for target databases",
    "DbObjectGeneration": "is for target databases",
    "DbSequence": "is for target databases",
    "Transform": 'is not supported: SQL changes rows (IntegrateExpression: "sql: …"), and Restrict skips them',
}
"""Actions that are not here."""

ELSEWHERE: dict[str, str] = {
    "AvroCompression": "now BlockCompress of FileFormat",
    "Burst": "not for Kafka, which is integrated continuously",
    "BurstCommitFrequency": "not for Kafka, which is integrated continuously",
    "CaptureFromRowId": "not possible: change files have no row ids",
    "Coalesce": "here a parameter of Capture",
    "CompareCondition": "not there: nothing is compared",
    "DbProc": "for target databases",
    "DistributionKeyAvoidPattern": "a parameter of TableProperties",
    "DistributionKeyLimit": "a parameter of TableProperties",
    "IntegrateCondition": "for target databases; here CaptureCondition, or AddressTo",
    "IntegrateConverter": "not there",
    "JournalRouterFiles": "not there: change files are yours to keep",
    "Method": "not needed: Kafka is integrated continuously",
    "OrderByTable": "for file and database targets",
    "RenameExpression": "for file targets; here Integrate Topic",
    "ReorderRows": "for file and database targets",
    "Resilient": "without effect where each change is a message",
    "RowGroupThreshold": "not there: a message is one row in Parquet",
    "TimeContext": "not there: LatencySLA holds always",
    "TrimWhiteSpace": "a parameter of TableProperties",
    "TxBundleSize": "for target databases; here Kafka_Message_Bundling",
    "TxSplitLimit": "for target databases; here Kafka_Message_Bundling",
}
"""Parameters that are not here, or not where they were looked for."""
