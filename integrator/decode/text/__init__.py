"""Text as databases print it -> values of their types, exactly or not at all. A new type is a case in `values`."""
