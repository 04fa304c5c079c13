"""HVR's actions -> those of a channel: what is here under its name, and why the rest is not.

https://fivetran.com/docs/hvr6/action-reference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import ValidationError

from integrator.channel.actions import ACTIONS
from integrator.channel.scope import AT_SOURCE, ONLY_AT_SOURCE
from integrator.channel.secret import REFERENCE, SENSITIVE
from integrator.expressions.substitutions import SUBSTITUTIONS
from integrator.imports.draft import PROPERTY, Draft
from integrator.imports.hvr_definition import ALL, HvrAction, HvrChannel, HvrHub
from integrator.names import hvr
from integrator.schema import String

_TEMPLATE = re.compile(r"\{[^{}]+\}|'[^'{}]*'|-?\d+|null")
"""A CaptureExpression that is no SQL: one substitution, or one literal."""
_MISSING = ("MissingRepresentationString", "MissingRepresentationNumeric", "MissingRepresentationDate")
_STAYS = "values of the other kinds that records leave out stay missing, where HVR invents 0, empty text or a date"
_SUBSTITUTION = re.compile(r"\{(\w+)\b[^{}]*\}")
_WHOLE = ("FileFormat", "Environment", "Scheduling")
"""Actions that hold for a whole location, whatever the table."""
_KEYLESS = {"Csv", "Xml", "Parquet"}
_KEYED = (
    "messages have keys here, which hold the order of a row's changes, and in HVR none; for none, write {action: "
    "Integrate, MessageKeySerializer: NONE}"
)
_RENAMED = {"AvroCompression": "BlockCompress"}
_REASONS = {
    "AddTablePattern": "tables are in the definitions: new ones are added there",
    "CaptureStartTimes": "changes are read as they are written",
    "RefreshStartTimes": "integrator refresh is started by cron, or another scheduler",
    "OnDropTable": "a dropped table has no more changes",
    "StatsHistory": "metrics are at the HTTP endpoint (docs/operations/monitoring.md)",
    "Schedule": "IntegrateStartTimes says when the daemon integrates",
    "NoDuplicateRows": "a table without a key has all its columns as its key",
    "DuplicateRows": "a table without a key has all its columns as its key",
    "CaptureExpressionType": "the expression is evaluated here, over the record alone",
}
_KEPT_BACK = {
    "IgnoreSessionName": "records do not name sessions, and changes of these sessions are sent",
    "Transform": "rows are sent without it; SQL changes rows (IntegrateExpression), and Restrict skips them",
    "IntegrateConverter": "messages are sent without it; SQL changes values (IntegrateExpression)",
    "CaptureConverter": "change files are read without it",
}
"""What kept rows or values back, and cannot be followed."""


@dataclass(frozen=True)
class Places:
    """The channel's two locations, with their groups."""

    source: str
    source_group: str
    kafka: str
    kafka_group: str

    def side(self, scope: str) -> str:
        """Return where a scope is: source, kafka, both, or none of them."""
        if scope == ALL:
            return "both"
        if scope in (self.source, self.source_group):
            return "source"
        return "kafka" if scope in (self.kafka, self.kafka_group) else ""


def import_actions(hub: HvrHub, channel: HvrChannel, places: Places, draft: Draft) -> None:
    """Add the actions of a channel, and note what has no counterpart."""
    for action in (*hub.actions, *channel.actions):
        side = places.side(action.location)
        if not side:
            draft.report.ignore(str(action), "the channel does not have this location")
        elif action.kind == "AdaptDDL":
            _take_adapt(action, side, draft)
        elif action.kind not in ACTIONS:
            _drop(str(action), action.kind, hvr.ACTIONS.get(action.kind), draft)
        else:
            made = _taken(action, side, places, draft)
            draft.actions += _of_columns(made, action, channel, draft) if made else []
    formats = {name for one in draft.actions if one["action"] == "FileFormat" for name in _KEYLESS & one.keys()}
    if formats and not any("MessageKey" in one or "MessageKeySerializer" in one for one in draft.actions):
        draft.report.differ(_KEYED, *sorted(formats))


def _take_adapt(action: HvrAction, side: str, draft: Draft) -> None:
    if side != "kafka" and draft.kafka.get("Kafka_Message_Bundling") != "TRANSACTION":
        draft.source["unknown_columns"] = "add"
    elif side != "kafka":
        draft.report.ignore(str(action), "columns cannot be added where Kafka_Message_Bundling is TRANSACTION")
    for name in action.parameters:
        draft.report.ignore(f"{action} {name}", _REASONS.get(name) or _clause(hvr.ACTIONS["AdaptDDL"]))


def _drop(label: str, name: str, why: str | None, draft: Draft) -> None:
    """Report an action or a parameter that has no counterpart. why: what names of HVR's say of it."""
    if name in _KEPT_BACK:
        draft.report.todo(f"{label} is not followed: {_KEPT_BACK[name]}")
    else:
        known = _REASONS.get(name) or (_clause(why) if why else "no counterpart is known")
        draft.report.ignore(label, known)


def _clause(why: str) -> str:
    """Return a text about a name as a clause."""
    if why.startswith(("is ", "belongs ")):
        return f"it {why}"
    return why if re.match(r"\w+ (is|are) ", why) else f"it is {why}"


def _taken(action: HvrAction, side: str, places: Places, draft: Draft) -> dict[str, Any] | None:
    """Return an action as it is here, or None where nothing of it is."""
    model = ACTIONS[action.kind]
    variable = action.parameters.get("Name")
    if action.kind == "Environment" and variable not in get_args(model.model_fields["Name"].annotation):
        draft.report.ignore(f"{action} {variable}", "the job has no such variable (docs/actions/Environment.md)")
        return None
    given: dict[str, Any] = {}
    for hvr_name, value in action.parameters.items():
        name = _RENAMED.get(hvr_name, hvr_name)
        if action.kind == "Integrate" and name == "Coalesce":
            draft.add_action("Capture", group=places.source_group, table=_table(action), Coalesce=True)
        elif name in model.model_fields:
            given[name] = _value(value, model.model_fields[name].annotation)
        else:
            _drop(f"{action} {hvr_name}", hvr_name, hvr.PARAMETERS.get(name), draft)
    if given.get("CaptureExpressionType", "INLINE") != "INLINE":
        draft.report.ignore(f"{action} CaptureExpressionType", _REASONS["CaptureExpressionType"])
        del given["CaptureExpressionType"]
    expression = given.get("CaptureExpression")
    if expression is not None and not _TEMPLATE.fullmatch(expression.strip()):
        given["CaptureExpression"] = f"sql: {expression}"
    if variable == PROPERTY:
        given["Value"] = ";".join(_without_secret(entry, draft) for entry in given.get("Value", "").split(";"))
    _widen(action, given, draft)
    represented = [name for name in _MISSING if name in given]
    if represented and len(represented) < len(_MISSING):
        draft.report.differ(_STAYS, f"{action} {', '.join(represented)}")
    _drop_idle(action, side, given, draft)
    scope = {} if action.location == ALL else {"group": action.location}
    table = {} if _table(action) is None or action.kind in _WHOLE else {"table": action.table}
    made = _accepted(action, {"action": action.kind, **scope, **table, **given}, draft)
    bare = made is not None and len(made) == 1 + len(scope) + len(table)
    return None if bare and action.parameters else made


def _without_secret(entry: str, draft: Draft) -> str:
    """Return name=value of librdkafka's with a reference in the place of what is secret (I7)."""
    name, _, value = entry.partition("=")
    if not value or not SENSITIVE.search(name) or REFERENCE.search(value):
        return entry
    variable = f"KAFKA_{re.sub(r'[^A-Z0-9]', '_', name.strip().upper())}"
    return f"{name}={draft.secret(name.strip(), variable, value)}"


def _widen(action: HvrAction, given: dict[str, Any], draft: Draft) -> None:
    """Give a column of substitutions the length that their values have here, where HVR's were shorter."""
    expression, length = given.get("IntegrateExpression", ""), given.get("Length")
    found = _SUBSTITUTION.findall(expression)
    types = [SUBSTITUTIONS[name].type for name in found if name in SUBSTITUTIONS]
    sizes = [one.length or 0 for one in types if isinstance(one, String)]
    if not sizes or expression.startswith("sql:") or not isinstance(length, int):
        return
    needed = len(_SUBSTITUTION.sub("", expression)) + sum(sizes)
    if length < needed:
        given["Length"] = needed
        draft.report.differ(
            f"its values have up to {needed} characters here: it is Length {needed}, not {length}",
            f"{action} of {given.get('Name', '*')}",
        )


def _of_columns(made: dict[str, Any], action: HvrAction, channel: HvrChannel, draft: Draft) -> list[dict[str, Any]]:
    """Return an action with its scope, table: "*" written out where some tables do not have the column it names."""
    name, scope = made.get("Name"), made.get("table", ALL)
    if action.kind != "ColumnProperties" or name is None or made.get("Extra"):
        return [made]
    within = [one for one in channel.tables.values() if scope in (ALL, one.name, one.group)]
    having = [one.name for one in within if any(column.name == name for column in one.columns)]
    if not having:
        draft.report.ignore(f"{action} of {name}", "no table of its scope has the column")
        return []
    where = {key: made[key] for key in ("action", "group") if key in made}
    some = {"table": scope} if len(having) < len(within) else {}
    return [where | some | {key: made[key] for key in made if key not in where}]


def _table(action: HvrAction) -> str | None:
    return None if action.table == ALL else action.table


def _drop_idle(action: HvrAction, side: str, given: dict[str, Any], draft: Draft) -> None:
    """Leave out what does nothing where the action holds, in HVR either."""
    named = {"Name", "DatatypeMatch", "Context"}
    if side == "source":
        idle = given.keys() - AT_SOURCE.get(action.kind, frozenset()) - named
    else:
        idle = given.keys() & ONLY_AT_SOURCE if side == "kafka" else set()
    for name in sorted(idle):
        draft.report.ignore(f"{action} {name}", f"it does nothing at {action.location}")
        del given[name]


def _value(value: Any, annotation: Any) -> Any:
    """Return a parameter's value in the type that it has here: XML has text only, and flags without a value."""
    kinds = _kinds(annotation)
    if bool in kinds:
        return value if isinstance(value, bool) else str(value).lower() in ("", "true", "1", "yes")
    if isinstance(value, str) and int in kinds and value.lstrip("-").isdigit():
        return int(value)
    return value if isinstance(value, int) and int in kinds and not isinstance(value, bool) else str(value)


def _kinds(annotation: Any) -> set[Any]:
    """Return the types in a union, in whatever they are wrapped."""
    inner = get_args(annotation)
    return {annotation} | {kind for one in inner for kind in _kinds(one)} if inner else {annotation}


def _accepted(action: HvrAction, made: dict[str, Any], draft: Draft) -> dict[str, Any] | None:
    """Return an action without the parameters that are not accepted, each noted; None where it cannot be without."""
    while True:
        try:
            ACTIONS[action.kind].model_validate(made)
        except ValidationError as error:
            found = error.errors()[0]
            name = str(found["loc"][0]) if found["loc"] else ""
            if name not in made or name in ("action", "group", "table"):
                draft.report.ignore(str(action), f"it is not accepted: {found['msg']}")
                return None
            draft.report.ignore(f"{action} {name}={made[name]}", f"it is not accepted: {found['msg']}")
            del made[name]
        else:
            return made
