"""librdkafka by its C interface, as the source and the target use it.

rdkafka_h      the library that confluent-kafka ships: its functions and structures
client         what producers and consumers have in common
properties     what all clients of a channel have
aws_iam        Amazon MSK's tokens
"""
