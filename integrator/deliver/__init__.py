"""Deliver: fragments in order -> messages in Kafka.

bundle   which rows share a message
kafka/   the producer, topics, and what came of each message
"""
