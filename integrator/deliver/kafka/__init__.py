"""Messages -> Kafka. Accepted: in librdkafka's queue. Acknowledged: the broker confirmed it. Synced: see `sync`.

producer       the Kafka client, once a worker
librdkafka     the client by its C interface; rdkafka_h: the declarations; records: messages as they are taken
properties     what all clients of a channel have; aws_iam: Amazon MSK's tokens
transaction    the producers of shards, each fencing the ones before
refused        properties that it refuses, before anything is sent
delivery       one task's messages, counted to the last
topic_batcher  messages wait for more of their topic
report         what came of it
topics         metadata: which topics there are, and creating them
embedded       librdkafka's in-process cluster, for trying things out
"""
