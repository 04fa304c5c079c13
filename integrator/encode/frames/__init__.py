"""What is around encoded rows, and what becomes of rows that are no plain message.

framing, row_frames, headers    what stands around rows and messages; headers
oversize, tombstones            rows above the maximum size; messages without value
"""
