"""What a channel keeps between cycles.

directory                        the state directory: who holds it, and what was synced
sync, marks                      a synced cycle, and its mark
shards                           transactional ids, and which cycles are the same
spark_checkpoint, consistency    Spark's checkpoint, read; whether it, the journal and the marks belong together
rewind, backup, compaction       going back to a synced cycle, and to a copy of the state; a journal that is compacted
"""
