"""Messages -> Kafka. Accepted: in librdkafka's queue. Acknowledged: the broker confirmed it. Synced: see `sync`.

producer       the Kafka client, once a worker
producer_client    librdkafka's producer by its C interface; records: messages as they are taken
transaction    the producers of shards, each fencing the ones before
refused        properties that it refuses, before anything is sent
delivery       one task's messages, counted to the last
topic_batcher  messages wait for more of their topic
report         what came of it
topics         metadata: which topics there are, and creating them
embedded       librdkafka's in-process cluster, for trying things out
"""
