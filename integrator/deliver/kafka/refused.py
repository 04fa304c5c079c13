"""Which of a producer's properties librdkafka refuses, or would take for something else; no broker is asked.

Its names and defaults are those of the library that is installed: rd_kafka_conf_dump, rd_kafka_topic_conf_dump.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from integrator.librdkafka.aws_iam import signer_of, without_own
from integrator.librdkafka.properties import QUIET
from integrator.librdkafka.rdkafka_h import library
from integrator.names import NAMES, meant
from integrator.names.units import Unit, in_unit

_NUMBER = re.compile(r"\s*-?\d+(\.\d+)?\s*")
_BEGINS = re.compile(r"\s*-?\d")
_ALIASES = ("linger.ms", "retries", "max.in.flight", "max.in.flight.requests.per.connection")
"""Names that librdkafka knows beside those that it lists, and that are numbers."""
_TEXT_BYTES = 512
_NO_SUCH = -2
"""RD_KAFKA_CONF_UNKNOWN of librdkafka's rdkafka.h."""


def refused(properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each property that is refused, and why; the last has no name, where it is that all do not go together.

    Raises EnvironmentFault where a library is missing by which a client logs in.
    """
    signer_of(properties)  # which needs a library of its own
    properties = without_own(properties)
    loaded, text = library(), ctypes.create_string_buffer(_TEXT_BYTES)
    configuration, good = loaded.rd_kafka_conf_new(), True
    try:
        for name, value in properties.items():
            if loaded.rd_kafka_conf_set(configuration, name.encode(), value.encode(), text, len(text)):
                why = _unknown(name) if name not in _known() else text.value.decode(errors="replace").strip()
            else:
                why = _half_read(name, value)
            if why:
                good = False
                yield name, why
    finally:
        loaded.rd_kafka_conf_destroy(configuration)
    if good:
        yield from _together(properties)


def is_known(name: str) -> bool:
    """Return whether librdkafka has a property of that name, whatever its value may be."""
    loaded, text = library(), ctypes.create_string_buffer(_TEXT_BYTES)
    configuration = loaded.rd_kafka_conf_new()
    try:
        found: int = loaded.rd_kafka_conf_set(configuration, name.encode(), b"", text, len(text))
    finally:
        loaded.rd_kafka_conf_destroy(configuration)
    return found != _NO_SUCH


def _unknown(name: str) -> str:
    return f"{name} is no property of librdkafka's; {meant(name, sorted(_known()))}"


def _half_read(name: str, value: str) -> str:
    """Return what is wrong with a number after which there is more: librdkafka takes 5ms for 5, and 10MB for 10."""
    if not _is_number(name) or _NUMBER.fullmatch(value) or not _BEGINS.match(value):
        return ""
    if "," in value and "=" in value:
        return f"{name}={value} is no number; properties are separated by ; and not by ,"
    unit: Unit = "milliseconds" if name.endswith(".ms") else "bytes"
    counted = in_unit(value, unit)
    return (
        f"{name}={value} is no number; write {name}={counted}"
        if counted is not None
        else f"{name}={value} is no number"
    )


def _together(properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    try:
        AdminClient({**QUIET, **{name: value for name, value in properties.items() if name != "bootstrap.servers"}})
    except KafkaException as error:
        yield "", error.args[0].str()


def _is_number(name: str) -> bool:
    return name in _ALIASES or _NUMBER.fullmatch(_known().get(name, "")) is not None


@lru_cache(maxsize=1)
def _known() -> dict[str, str]:
    """Return the names of properties that librdkafka lists, with their defaults, and those that people bring."""
    loaded = library()
    found = {one.sets: "" for one in NAMES if one.sets}
    for scope in ("rd_kafka_conf", "rd_kafka_topic_conf"):
        configuration, count = getattr(loaded, f"{scope}_new")(), ctypes.c_size_t()
        listed = getattr(loaded, f"{scope}_dump")(configuration, ctypes.byref(count))
        texts = [(listed[at] or b"").decode(errors="replace") for at in range(count.value)]
        found |= dict(zip(texts[::2], texts[1::2], strict=True))
        loaded.rd_kafka_conf_dump_free(listed, count.value)
        getattr(loaded, f"{scope}_destroy")(configuration)
    return found
