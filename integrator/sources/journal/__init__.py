"""Which slices were taken, in which order, on disk: a cycle that is sent again has the same ones (I2).

journal, lines        the journal, and its lines
compacted, digests    entries of cycles long synced; the digest of the journal's beginning, and its streams' ends
"""
