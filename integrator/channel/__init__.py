"""The channel file: YAML -> the model of a channel, with the line of each key.

model, locations, sources, actions/: what may be written. load: reads it, with secrets. scope: which action applies to
which table. A new action is a file in actions/ and a line in its dict; a new parameter is a field with a description.
"""
