"""A broker of Kafka in this process, with the interface of kafka-python.

It has what the page *Streams and clusters* uses; `test_recipes.py` compares it with the
client. `poll` returns batches of many sizes, as a broker does.
"""

import json
from typing import NamedTuple

# Offsets have gaps, as where a topic is compacted.
N_RECORDS, GAP = 300, 25
#: Partitions of each topic, and after how many calls of `poll` the broker is lost.
broker = {"n_partitions": 1, "fails_after": None}


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class ConsumerRecord(NamedTuple):
    offset: int
    value: object


def records(partition):
    """Return offsets and JSON of a partition's rows."""
    for i in range(N_RECORDS):
        rooms, city = (i * 7 + partition) % 5 + 1, "Oslo" if i % 3 else "Rome"
        row = {"city": city, "rooms": rooms, "let": rooms > 2 and city == "Oslo"}
        yield i + i // GAP, json.dumps(row).encode()


class KafkaConsumer:
    DEFAULT_CONFIG = {
        "bootstrap_servers": "localhost",
        "group_id": None,
        "enable_auto_commit": True,
        "auto_offset_reset": "latest",
        "value_deserializer": None,
    }

    def __init__(self, *topics, **configs):
        assert configs.keys() <= self.DEFAULT_CONFIG.keys()
        assert configs["auto_offset_reset"] == "earliest", "or rows are left out"
        assert configs["enable_auto_commit"] is False
        self.decode, self.positions = configs["value_deserializer"], {}
        self.n_polls, self.committed = 0, {}

    def partitions_for_topic(self, topic):
        return {*range(broker["n_partitions"])}

    def assign(self, partitions):
        self.positions = dict.fromkeys(partitions, 0)

    def assignment(self):
        return {*self.positions}

    def seek(self, partition, offset):
        assert partition in self.positions
        self.positions[partition] = offset

    def poll(self, timeout_ms=0, max_records=None, update_offsets=True):
        self.n_polls += 1
        if self.n_polls == broker["fails_after"]:
            raise ConnectionError("The broker is lost.")
        polled = {}
        for partition, position in self.positions.items():
            size = 1 + (self.n_polls * 7919 + position) % min(max_records, 97)
            later = [r for r in records(partition.partition) if r[0] >= position]
            for offset, value in later[:size]:
                record = ConsumerRecord(offset, self.decode(value))
                polled.setdefault(partition, []).append(record)
                self.positions[partition] = offset + 1
        return polled

    def commit(self, offsets=None, timeout_ms=None):
        self.committed = offsets or dict(self.positions)
