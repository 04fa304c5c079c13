"""The channel file: `model` says what may be written, `load` reads it with lines, `scope` says which action applies."""
