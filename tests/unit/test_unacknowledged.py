"""Why deliveries fail is looked up once a minute, and anew after one that did not: the next may fail for another reason."""

import pytest
from confluent_kafka import KafkaError

from integrator.deliver.kafka import unacknowledged
from integrator.deliver.kafka.unacknowledged import UNEXPLAINED, Reasons
from integrator.errors import DeliveryError, EnvironmentFault


@pytest.fixture
def looked(monkeypatch):
    """The seconds that each look may take; the first one finds `reason 1`, and so on. `now` moves the clock."""
    clock, looks = [100.0], []

    def connected(_properties, seconds):
        looks.append(seconds)
        raise EnvironmentFault(f"reason {len(looks)}")

    monkeypatch.setattr(unacknowledged, "connected", connected)
    monkeypatch.setattr(unacknowledged.time, "monotonic", lambda: clock[0])
    return clock, looks


def why(reasons, code=UNEXPLAINED[0]):
    return str(reasons.explained(DeliveryError("orders: not sent", code))).partition(" Why: ")[2]


def test_a_reason_is_kept_for_a_minute_and_says_its_age(looked):
    clock, looks = looked
    reasons = Reasons({}, ["orders"])
    assert why(reasons) == "reason 1"
    clock[0] += 20
    assert why(reasons) == "reason 1 (seen 20 s ago)"
    clock[0] += 41
    assert why(reasons) == "reason 2"
    assert looks == [3.0, 3.0]


def test_after_a_delivery_that_did_not_fail_the_reason_is_looked_up_anew(looked):
    clock, looks = looked
    reasons = Reasons({}, ["orders"])
    why(reasons)
    reasons.forget()
    clock[0] += 1
    assert (why(reasons), len(looks)) == ("reason 2", 2)


def test_what_failed_at_once_is_not_looked_into(looked):
    assert why(Reasons({}, ["orders"]), KafkaError.MSG_SIZE_TOO_LARGE) == ""
    assert looked[1] == []


@pytest.mark.parametrize("code", UNEXPLAINED)
def test_a_topic_that_is_gone_is_looked_into_whatever_librdkafka_calls_it(code, looked):
    assert why(Reasons({}, ["orders"]), code) == "reason 1"
