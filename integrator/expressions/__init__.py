"""Expressions of columns, keys and topics: text with substitutions and SQL -> parts.

parse           templates and SQL -> parts
parts           what they are: text, substitutions, columns, constants, SQL; what their values depend on
substitutions   what each {name} gives, and where it may stand; a new one is a line in its dict
"""
