"""Compiled loops: arrays in, arrays out. They know numbers, bytes, texts and JSON, and nothing of what these mean.

arrays     the arrays that loops take, by the width of their items
"""
