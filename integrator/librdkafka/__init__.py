"""librdkafka by its C interface, as the source and the target use it.

rdkafka_h      the library that confluent-kafka ships: its functions and structures
client         what producers and consumers have in common
consumer       ranges of partitions read into blocks; fetching: a partition that is fetched; blocks: arrays
properties     what all clients of a channel have
aws_iam        Amazon MSK's tokens
"""
