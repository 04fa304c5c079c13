"""Deliver: fragments in order -> messages in Kafka.

In come encoded rows in order; out go acknowledged messages, and a report with their counts.

bundle   which rows share a message
kafka/   the producer, topics, and what came of each message
"""
