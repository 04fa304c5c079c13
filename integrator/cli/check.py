"""`check --connect`: brokers, topics, a test topic and the schema registry, tried."""

from __future__ import annotations

from integrator.deliver.kafka import probe, topics
from integrator.errors import EnvironmentFault
from integrator.plan import Plan
from integrator.registry import client as registry


def connect(plan: Plan, test_topic: str | None) -> str:
    """Return what was found, in lines. Raises EnvironmentFault with what would keep messages from the topics."""
    properties = plan.recipe.send.producer
    absent = topics.missing(properties, plan.topics)
    if absent and plan.create_topics is None:
        topics.ensure(properties, plan.topics, None)  # says what to do
    problems = list(probe.topic_problems(properties, plan.topics))
    if problems:
        raise EnvironmentFault("\n  ".join(("the brokers would not take all messages:", *problems)))
    report = f"; {plan.brokers} answers, {len(plan.topics) - len(absent)} of {len(plan.topics)} topics are there"
    report += f", to be created: {', '.join(absent)}" if absent else ""
    if test_topic:
        seconds = probe.through_topic(properties, test_topic)
        report += f"\n{test_topic}: a message was sent and read back in {seconds:.1f} s"
    return report + "".join(f"\n{line}" for line in registry.check(plan))
