"""Message formats: each is two functions, the text of a schema and an encoder of rows, compiled once a schema.

connect_json    Kafka Connect JSON with schema and payload
json_text       JSON's scalars, column by column
base64_text     RFC 4648, column by column
"""
