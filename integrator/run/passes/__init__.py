"""The two passes of a cycle, on executors: files -> fragments, and, after the shuffle, fragments -> messages.

first_pass (decoding, rejects)    files -> change rows -> encoded fragments; lines that are rejected
second_pass                       fragments in order -> messages, acknowledged, and a report
"""
