"""HVR_KAFKA_PROPERTY -> librdkafka's properties: its names, and those of Java's producer and of other products."""

from __future__ import annotations

from collections.abc import Callable

from integrator.channel import paths
from integrator.channel.problems import Report
from integrator.names import Name, foreign

_ACKS = ("acks", "request.required.acks")


def _kilobytes(value: str) -> str:
    return str(-(-int(value) // 1024))


def _socket(value: str) -> str:
    return "0" if int(value) == -1 else str(int(value))


def _algorithm(value: str) -> str:
    return value or "none"


_CONVERTED: dict[str, Callable[[str], str]] = {
    "buffer.memory": _kilobytes,
    "send.buffer.bytes": _socket,
    "receive.buffer.bytes": _socket,
    "ssl.endpoint.identification.algorithm": _algorithm,
}
"""Other clients' properties whose values librdkafka has otherwise."""
FILES = frozenset(
    {
        "https.ca.location",
        "sasl.kerberos.keytab",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.jwt.template.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.crl.location",
        "ssl.key.location",
        "ssl.keystore.location",
    }
)
"""Properties that name a file, or a directory."""
_SEARCHED = "probe"
"""A place of certificates that librdkafka is to find by itself."""


def extra_properties(text: str, report: Report, directory: str) -> dict[str, str]:
    """Return librdkafka's properties of HVR_KAFKA_PROPERTY's `text`; problems are reported of that variable.

    directory: of the channel's file, beside which the files are that properties name.
    """
    extra: dict[str, str] = {}
    for entry in filter(None, map(str.strip, text.split(";"))):
        given, equals, value = entry.partition("=")
        name = given.strip()
        known = foreign(name, "property")
        if not equals:
            report("HVR_KAFKA_PROPERTY", "holds an entry that is no property; write name=value;name=value")
        elif known is not None and not known.sets:
            report("HVR_KAFKA_PROPERTY", f"{name} cannot be set here: {known.ours}")
        elif known is not None and known.sets in _ACKS and value.strip() in ("0", "none"):
            report("HVR_KAFKA_PROPERTY", "acks=0 acknowledges nothing, so nothing could be synced; use 1 or all")
        elif name in _ACKS and value.strip() == "one":
            report("HVR_KAFKA_PROPERTY", "acks=one, of Conduit, is acks=1 here; acks=all is the default")
        else:
            _set(name, value, known, extra, report)
    for name in FILES & extra.keys():
        extra[name] = _place(name, extra[name].strip(), report, directory)
    return extra


def _place(name: str, file: str, report: Report, directory: str) -> str:
    """Return where a file is that a property names; a file that is where it was searched for before is reported."""
    if file == _SEARCHED:
        return file
    place = paths.resolved(file, directory)
    if text := paths.elsewhere(file, place):
        report("HVR_KAFKA_PROPERTY", f"{name}: {text}")
    return place


def _set(name: str, value: str, known: Name | None, extra: dict[str, str], report: Report) -> None:
    """Add a property to `extra`, under librdkafka's name and with its value of it."""
    ours = known.sets if known is not None else name.replace("_", ".")
    convert = _CONVERTED.get(known.name) if known is not None else None
    try:
        converted = value if convert is None else convert(value.strip())
    except ValueError:
        report("HVR_KAFKA_PROPERTY", f"{name}={value} is no whole number")
        return
    if ours in extra:
        report("HVR_KAFKA_PROPERTY", f"{name} says {ours}, which stands there already; leave one of them out")
    extra[ours] = converted
