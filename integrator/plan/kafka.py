"""Kafka location + Environment actions -> librdkafka's properties and our limits.

Names and defaults: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from integrator.channel import brokers, kafka_access
from integrator.channel.actions import Environment
from integrator.channel.actions.environment import PROPERTIES
from integrator.channel.locations import KafkaLocation
from integrator.channel.merge import Target, merge, of_kind
from integrator.channel.model import Channel
from integrator.channel.problems import Problems, Report
from integrator.channel.secret import SENSITIVE, TOO_SHORT, is_too_short
from integrator.channel.topics import TopicsLocation
from integrator.errors import Reason
from integrator.librdkafka.properties import CONSUMER_SETTINGS, is_of_producer
from integrator.names.units import Unit, in_unit
from integrator.plan.kafka_properties import extra_properties
from integrator.sources.contract import ClientSource, Source

DEFAULT_MAX_BYTES = 1_000_000
MIN_MAX_BYTES = 4096
DEFAULT_DELIVERY_TIMEOUT_S = 300

# linger and batch size: the default batches of a few records cost a round trip each (debezium/debezium#7725).
DEFAULTS = {
    "acks": "all",
    "enable.idempotence": "true",
    "linger.ms": "20",
    "batch.size": "1000000",
    "queue.buffering.max.messages": "500000",
    "queue.buffering.max.kbytes": "32768",
}


_REFUSED = "librdkafka refuses this: {}; mend it, or what HVR_KAFKA_PROPERTY sets beside it"
_SET_BY_SOURCE = {*CONSUMER_SETTINGS, "fetch.message.max.bytes", "max.partition.fetch.bytes"}
"""Properties of a consumer that cannot be given; the last is another name for the one before."""
_KEYS = {"bootstrap.servers": "Kafka_Brokers", "compression.type": "Kafka_Message_Compress"}
_UNITS: dict[str, Unit] = {"HVR_KAFKA_MSG_MAX_BYTES": "bytes", "HVR_KAFKA_MSG_DELIVERY_TIMEOUT": "seconds"}
"""What variables count."""


@dataclass(frozen=True)
class KafkaSettings:
    """librdkafka's producer properties, and the limits that are checked before a message reaches it."""

    producer: dict[str, str]
    max_bytes: int
    rate_limit: int
    exactly_once: bool = False


Client = Callable[[Mapping[str, str]], Iterable[tuple[str, str]]]
"""Returns which properties the client of Kafka refuses, by name, and why; without a name: that they go together."""


def kafka_settings(
    channel: Channel, name: str, location: KafkaLocation, problems: Problems, client: Client
) -> KafkaSettings:
    """Return the settings for the Kafka location `name`; what is wrong is added to `problems`."""
    before = len(problems)
    kafka_access.hide(location, problems.source.secrets)
    brokers.hide(location.Kafka_Brokers, problems.source.secrets)
    variables = _variables(channel, Target(channel, (name,)), problems)
    max_bytes = variables.number("HVR_KAFKA_MSG_MAX_BYTES", DEFAULT_MAX_BYTES, MIN_MAX_BYTES, 1_000_000_000)
    timeout = variables.number("HVR_KAFKA_MSG_DELIVERY_TIMEOUT", DEFAULT_DELIVERY_TIMEOUT_S, 1, 2_147_483)
    extra = extra_properties(variables.properties(), variables.report, problems.source.directory)
    _check_in_flight(extra, variables.report)
    exactly_once = channel.delivery == "exactly_once"
    if exactly_once:
        _check_transactions(extra, variables.report)
    for at, text in brokers.wrong_brokers(location.Kafka_Brokers):
        problems.add(("locations", name, "Kafka_Brokers", at), text)
    access = kafka_access.access_properties(location, problems.at_location(name), problems.source.directory)
    extra = kafka_access.checked_beside(extra, access, variables.report)
    producer = _defaults(location, max_bytes, timeout, extra) | access | extra
    for refused, why in client(producer):
        if not refused and len(problems) > before:  # what does not go together is reported already
            continue
        if refused in extra:
            variables.report(PROPERTIES, why)
        else:
            key = kafka_access.key_of(refused) or _KEYS.get(refused) or kafka_access.key_in(location, why)
            problems.add(("locations", name, *filter(None, (key,))), _REFUSED.format(why))
    rate_limit = variables.number("HVR_KAFKA_RATE_LIMIT", 0, 1, 10_000_000)
    return KafkaSettings(producer, max_bytes, rate_limit, exactly_once)


@dataclass(frozen=True)
class _Variables:
    """What Environment actions set: each variable's text, and the place in the channel of the action that sets it."""

    texts: Mapping[str, str]
    places: Mapping[str, int]
    problems: Problems

    def report(self, parameter: str, reason: str | Reason, table: str = "") -> None:
        """Add a problem of a variable."""
        text = f"{parameter}: {Reason.of(reason).text}"
        self.problems.add(("actions", self.places[parameter], "Value"), text, table)

    def number(self, variable: str, default: int, least: int, most: int) -> int:
        """Return a variable's number, or the default where it is not set or wrong, which is reported."""
        text = self.texts.get(variable)
        if text is None:
            return default
        if text.isascii() and text.isdigit() and least <= int(text) <= most:
            return int(text)
        counted = in_unit(text, _UNITS[variable]) if variable in _UNITS else None
        remedy = f"; write {counted}" if isinstance(counted, int) and least <= counted <= most else ""
        self.report(variable, f"{text!r} is not accepted; a whole number from {least} to {most} is{remedy}")
        return default

    def properties(self) -> str:
        """Return HVR_KAFKA_PROPERTY; nothing where it is not set or wrong, which is reported."""
        text = self.texts.get(PROPERTIES, "")
        if self.problems.source.secrets.brings(text, ";"):
            wrong = "a value that comes in as ${…} has a semicolon, which would end the property"
            self.report(PROPERTIES, wrong)
            return ""
        return text


def with_properties(
    channel: Channel, sources: Mapping[str, Source], problems: Problems, client: Client
) -> dict[str, Source]:
    """Return sources with librdkafka's properties for those of topics; what is wrong is added to `problems`.

    Secrets of all Environment actions are known from then on.
    """
    _check_actions(channel, problems)
    return {
        name: cast("ClientSource", one).with_properties(_source_properties(channel, name, location, problems, client))
        if isinstance(location := one.location, TopicsLocation)
        else one
        for name, one in sources.items()
    }


def _source_properties(
    channel: Channel, name: str, location: TopicsLocation, problems: Problems, client: Client
) -> dict[str, str]:
    """Return the properties of actions that name the location or its group: others are for the producer."""
    before = len(problems)
    variables = _variables(channel, Target(channel, (name,), only_named=frozenset({"Value"})), problems)
    if PROPERTIES not in variables.texts:
        return {}
    extra = extra_properties(variables.properties(), variables.report, location.directory)
    access = kafka_access.access_properties(location, lambda _parameter, _text, _table="": None, location.directory)
    extra = kafka_access.checked_beside(extra, access, variables.report)
    for one in extra:
        if one in _SET_BY_SOURCE:
            variables.report(PROPERTIES, f"{one} is set by the source itself; leave it out")
        elif is_of_producer(one):
            variables.report(PROPERTIES, f"{one} is a producer's, and does nothing at {name!r}; leave it out here")
    for refused, why in client(access | extra):
        if refused in extra or (not refused and len(problems) == before):
            variables.report(PROPERTIES, why)
    return extra


def _check_actions(channel: Channel, problems: Problems) -> None:
    """Check what holds for all Environment actions, and note their secrets."""
    actions = of_kind(Environment, enumerate(channel.actions))
    _hide(actions, problems)
    for place, action in actions:
        if action.table != "*":
            text = "an Environment holds for the whole job: table must be *"
            problems.add(("actions", place, "table"), text)


def _variables(channel: Channel, target: Target, problems: Problems) -> _Variables:
    """Return what Environment actions set at a location."""
    actions = of_kind(Environment, enumerate(channel.actions))
    texts: dict[str, str] = {}
    places: dict[str, int] = {}
    for variable in sorted({action.Name for _, action in actions}):
        named = [(place, action) for place, action in actions if action.Name == variable]
        given = merge(Environment, named, target, problems)
        if given.places:
            texts[variable], places[variable] = given.values.Value, given.places["Value"]
    return _Variables(texts, places, problems)


def _hide(actions: list[tuple[int, Environment]], problems: Problems) -> None:
    """I7: know the values of secret properties before any message can hold them."""
    for place, action in actions:
        for key, _, value in (entry.strip().partition("=") for entry in action.Value.split(";")):
            if SENSITIVE.search(key.strip()):
                problems.source.secrets.add(value)
                if is_too_short(value):
                    problems.add(("actions", place, "Value"), f"{key.strip()}: {TOO_SHORT}")


def _check_in_flight(extra: dict[str, str], report: Report) -> None:
    """I3: without idempotence, a message that is tried again may be passed by one after it."""
    for name in ("max.in.flight", "max.in.flight.requests.per.connection"):
        if name in extra and extra[name].strip() != "1" and not is_idempotent(extra):
            report(PROPERTIES, f"{name} above 1 without idempotence would break the order; leave one of them out")


def _check_transactions(extra: dict[str, str], report: Report) -> None:
    """I8: without acknowledgements of all replicas, what is committed may be lost."""
    if not is_idempotent(extra):
        report(PROPERTIES, "delivery: exactly_once needs acks=all and idempotence; leave both out here")


def is_idempotent(properties: Mapping[str, str]) -> bool:
    """Return whether a producer with these properties may send in transactions."""
    acks = properties.get("acks", properties.get("request.required.acks", "all")).strip()
    return acks in ("all", "-1") and properties.get("enable.idempotence", "true").strip().lower() == "true"


def _defaults(location: KafkaLocation, max_bytes: int, timeout_s: int, extra: dict[str, str]) -> dict[str, str]:
    defaults = dict(DEFAULTS)
    acks = extra.get("acks", extra.get("request.required.acks", "all")).strip()
    if acks not in ("all", "-1"):
        defaults["enable.idempotence"] = "false"
    if "request.required.acks" in extra:
        del defaults["acks"]
    if extra.get("enable.idempotence", defaults["enable.idempotence"]).strip().lower() != "true":
        # I3: a message that is tried again may not be passed by one after it
        defaults["max.in.flight.requests.per.connection"] = "1"
    return defaults | {
        "bootstrap.servers": brokers.bootstrap(location.Kafka_Brokers),
        "compression.type": location.Kafka_Message_Compress.lower(),
        "partitioner": location.Kafka_Partitioner,
        "message.max.bytes": str(max_bytes),
        "message.timeout.ms": str(timeout_s * 1000),
    }
