"""What went wrong with a cluster or a range of it -> the error that an operator reads, with what can be done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from integrator.errors import EnvironmentFault, IntegratorError, SourceAway
from integrator.librdkafka.cluster import ClusterFault
from integrator.librdkafka.fetching import ReadFault

CONTINUE = "to continue without them, set lost_records: earliest at the source location"
ANEW = "to read all that is there, remove the channel's state directory; messages that were sent before are sent again"
_ALLOW = "the operator of the brokers must allow our user: ACL Read and Describe on the topics{}"


def overtaken(place: str, position: int, low: int) -> EnvironmentFault:
    """Return the error for records that retention deleted before they were read."""
    return EnvironmentFault(
        f"{place}: the records from offset {position} to {low - 1} were deleted before they were read (the first one "
        f"there is at {low}): retention is shorter than the channel was away; give the topic a longer retention "
        f"(retention.ms, retention.bytes); restore the records elsewhere, or {CONTINUE}"
    )


def cut(place: str, position: int, end: int, high: int) -> EnvironmentFault:
    """Return the error for a partition that has fewer records than it had."""
    return EnvironmentFault(
        f"{place}: has records up to offset {high - 1}, and had them up to {end - 1}; offset {position} is next: the "
        "partition was cut, as an unclean election of a leader does it, or the brokers were restored from a back-up; "
        f"restore the brokers' data; or, where the records are lost, {ANEW}"
    )


def made_anew(topic: str, known: str, found: str) -> EnvironmentFault:
    """Return the error for a topic that was deleted and created again."""
    return EnvironmentFault(
        f"{topic}: was deleted and created again (its id was {known}, and is {found}): records that were not read are "
        f"lost, and its offsets are those of other records; {CONTINUE}, which reads the new topic from its beginning"
    )


def gone(topic: str) -> EnvironmentFault:
    """Return the error for a topic that is not there any more."""
    return EnvironmentFault(
        f"{topic}: the topic is not there any more, or our user may not see it (ACL Describe): records that were not "
        f"read are lost with it; restore it; or {CONTINUE}"
    )


def missing(topics: list[str], brokers: str) -> EnvironmentFault:
    """Return the error for topics that are named and not there."""
    return EnvironmentFault(
        f"missing at {brokers}: the topics {', '.join(topics)}; create them, or mend `topics` of the source location; "
        "where the brokers have ACLs, our user needs Describe and Read on them"
    )


def of_read(fault: ReadFault, brokers: str) -> IntegratorError:
    """Return the error for a range that cannot be read."""
    wanted = fault.of
    place, heard = f"{wanted.topic}/{wanted.partition}", f" ({fault.text})" if fault.text else ""
    if fault.reason == "overtaken":
        return overtaken(place, fault.offset, fault.low)
    if fault.reason == "cut":
        return cut(place, fault.offset, wanted.end, fault.high)
    if fault.reason == "unknown":
        return gone(wanted.topic)
    if fault.reason == "not allowed":
        return EnvironmentFault(f"{place}: may not be read{heard}; {_ALLOW.format('')}")
    return SourceAway(
        f"{place}: nothing came from {brokers} for offset {fault.offset}{heard}; start the brokers, or correct "
        "Kafka_Brokers or our credentials at the source location"
    )


def of_cluster(fault: ClusterFault, brokers: str) -> IntegratorError:
    """Return the error for a cluster that does not answer."""
    if fault.reason == "not allowed":
        group = ", and Read on the consumer_group"
        return EnvironmentFault(f"{fault.of or brokers}: not allowed ({fault.text}); {_ALLOW.format(group)}")
    if fault.reason == "away":
        return SourceAway(
            f"no broker of {brokers} answers ({fault.text}); start it, or correct Kafka_Brokers or our credentials "
            "(Kafka_Authentication_Method, certificates) at the source location"
        )
    return EnvironmentFault(f"{fault.of or brokers}: {fault.text}; see the brokers' logs")


@contextmanager
def explained(brokers: Callable[[], str]) -> Iterator[None]:
    """Raise the error that an operator reads for what goes wrong with a cluster whose `brokers` these are."""
    try:
        yield
    except ClusterFault as fault:
        raise of_cluster(fault, brokers()) from None
    except ReadFault as fault:
        raise of_read(fault, brokers()) from None
