"""Reads two topics at one point of the database: what was committed at or before it, and nothing else."""

from confluent_kafka import Consumer, TopicPartition

from integrator import resolved

BROKERS, TOPICS = "localhost:9092", ["shop.orders", "shop.payments"]
settings = {"group.id": "report", "enable.auto.commit": False, "enable.partition.eof": True}
consumer = Consumer({"bootstrap.servers": BROKERS, **settings})
waiting, read, tables = [], {}, {topic: {} for topic in TOPICS}
with resolved.reader(BROKERS, "shop.resolved", channel="shop") as messages:
    for at in messages:
        if at.point is None:
            continue
        ends = {(topic, part): end for topic in TOPICS for part, end in enumerate(at.offsets[topic])}
        left = {place for place, end in ends.items() if read.get(place, 0) < end}
        consumer.assign([TopicPartition(*place, read.get(place, 0)) for place in left])
        while left:
            message = consumer.poll(1)
            if message is None:
                continue
            place, offset = (message.topic(), message.partition()), message.offset()
            if not message.error():  # else the end of a partition
                waiting.append((dict(message.headers())["seq"].decode(), message))
                offset += 1
            read[place] = max(read.get(place, 0), offset)
            if offset >= ends[place]:
                left.discard(place)
        waiting.sort(key=lambda row: row[0])
        while waiting and waiting[0][0] <= at.point.integ_seq:
            _, message = waiting.pop(0)
            tables[message.topic()][message.key()] = message.value()
        print(at.point.position, {topic: len(rows) for topic, rows in tables.items()})
