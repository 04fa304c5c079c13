"""Expressions of columns, keys and topics: text with substitutions and SQL -> parts.

parse           templates and SQL, with what they depend on
substitutions   what each {name} gives, and where it may stand; a new one is a line in its dict
"""
