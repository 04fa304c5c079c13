"""Google's protoc and runtime: .proto text -> message classes, as a consumer would compile them."""

from __future__ import annotations

import base64
import functools
import tempfile
from pathlib import Path

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.confluent import meta_pb2
from confluent_kafka.schema_registry.confluent.type import decimal_pb2
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2, timestamp_pb2, wrappers_pb2
from google.type import date_pb2, timeofday_pb2
from grpc_tools import protoc

DEPENDENCIES = (
    descriptor_pb2, meta_pb2, decimal_pb2, timestamp_pb2, wrappers_pb2, struct_pb2, date_pb2, timeofday_pb2
)  # fmt: skip


class Serialized:
    """A registry's client that gives Protobuf schemas as descriptors, which Confluent's deserializer asks for.

    Confluent's own registry does that when it is asked with format=serialized; Apicurio gives the text all the same.
    """

    def __init__(self, client: SchemaRegistryClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> object:
        return getattr(self._client, name)

    def get_schema(self, number: int, *_: object, **__: object) -> Schema:
        text = self._client.get_schema(number).schema_str
        return Schema(base64.b64encode(descriptor(text)).decode(), "PROTOBUF")


def descriptor(text: str) -> bytes:
    """The descriptor of a proto file."""
    return bytes(compiled(text)[1].file[0].SerializeToString())


@functools.cache
def compiled(text: str) -> tuple[descriptor_pb2.FileDescriptorSet, descriptor_pb2.FileDescriptorSet]:
    """What protoc makes of a proto file, after what it imports."""
    known = descriptor_pb2.FileDescriptorSet()
    for module in DEPENDENCIES:
        module.DESCRIPTOR.CopyToProto(known.file.add())
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        (path / "deps.pb").write_bytes(known.SerializeToString())
        (path / "m.proto").write_text(text)
        command = ["protoc", f"--descriptor_set_in={path / 'deps.pb'}", f"--proto_path={path}"]
        done = protoc.main([*command, f"--descriptor_set_out={path / 'out.pb'}", str(path / "m.proto")])
        assert done == 0, text
        return known, descriptor_pb2.FileDescriptorSet.FromString((path / "out.pb").read_bytes())


@functools.cache
def message_class(text: str, name: str) -> type:
    """The class of the message `name` in the proto file `text`."""
    known, made = compiled(text)
    pool = descriptor_pool.DescriptorPool()
    for file in (*known.file, *made.file):
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
