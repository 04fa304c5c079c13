"""Why no broker answers: an inspection of the first one that is named, with a connection of our own.

librdkafka reports a certificate that has expired, one of another host and one of an unknown authority in the same
words, and nothing at all where one side has TLS and the other has not.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import tempfile
from collections.abc import Iterator, Mapping

from integrator.deliver.kafka.permanent import ACL
from integrator.librdkafka import aws_iam

_TIMEOUT_S = 3.0
_EXPIRED, _NOT_YET, _OTHER_HOST, _OTHER_ADDRESS = 10, 9, 62, 64
"""OpenSSL's X509_V_ERR_…: https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/."""
_UNKNOWN = (2, 18, 19, 20, 21)
_TEXTS = {
    _EXPIRED: "its certificate has expired; the operator of the brokers must renew it",
    _NOT_YET: "its certificate is not valid yet; one of the two clocks is wrong, or the operator of the brokers "
    "must renew it",
    _OTHER_HOST: "its certificate is for another host name; name the brokers in Kafka_Brokers as their certificates do",
    _OTHER_ADDRESS: "its certificate is not for this address; name the brokers in Kafka_Brokers as it does",
}


def with_remedy(text: str) -> str:
    """Return the text of a failed delivery with who mends it, where brokers or topics do not allow it.

    Brokers from 2.8 on let who may write to any topic be idempotent, and so refuse that first to who may write to none
    (KIP-679).
    """
    return f"{text}; {ACL}" if "authorization failed" in text.lower() else text


def diagnose(properties: Mapping[str, str], heard: str) -> str:
    """Return what keeps a client with librdkafka's `properties` from the first broker, and who mends what.

    heard: the last thing that librdkafka reported. Empty where nothing more can be found out.
    """
    place = properties["bootstrap.servers"].split(",")[0].rpartition("://")[2]
    host, port = place.rpartition(":")[0].strip("[]"), int(place.rpartition(":")[2])
    protocol = properties.get("security.protocol", "plaintext").upper()
    refused = "SASL authentication error" in heard or "SASL" in heard.partition(":")[2]
    if refused and aws_iam.REGION in properties:
        return (
            "the brokers reject our credentials: correct Kafka_Aws_Region, or have AWS allow our identity "
            "kafka-cluster:Connect"
        )
    if refused:
        return (
            "the brokers reject our credentials: correct Kafka_Authentication_Method, Stream_User and Stream_Password"
        )
    if "oauthbearer" in heard.lower() or "OIDC" in heard:
        return "no token was issued: mend Kafka_Oauth_Token_Url, Stream_User, Stream_Password and Kafka_Oauth_Scope"
    try:
        with socket.create_connection((host, port), _TIMEOUT_S):
            pass
    except socket.gaierror:
        return f"no address is known for {host}: mend Kafka_Brokers"
    except OSError as error:
        return f"{place} cannot be reached ({error.strerror or error}): start it, or mend Kafka_Brokers"
    if "SSL" not in protocol:
        return _without_tls(host, port, place)
    return _with_tls(host, port, place, properties, sasl=protocol.startswith("SASL"))


def _without_tls(host: str, port: int, place: str) -> str:
    try:
        _handshake(host, port, _any_certificate())
    except OSError:
        return ""
    return f"{place} has TLS, and the channel has none: set Stream_Public_Certificate or Kafka_Tls: true"


def _with_tls(host: str, port: int, place: str, properties: Mapping[str, str], *, sasl: bool) -> str:
    own = "Stream_Client_Public_Certificate and Stream_Client_Private_Key"
    try:
        _handshake(host, port, _as_configured(properties))
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in _TEXTS:
            return f"{place}: {_TEXTS[error.verify_code]} ({error.verify_message})"
        if error.verify_code in _UNKNOWN:
            named = "Stream_Public_Certificate must be the PEM file of the authority that signed it"
            return f"{place}: its certificate is signed by an authority that is not known here; {named}"
        return f"{place}: its certificate is refused: {error.verify_message}"
    except ssl.SSLError as error:
        if "CERTIFICATE" in (error.reason or "") or "ALERT" in (error.reason or ""):
            return f"{place} refuses our certificate ({error.reason}): mend {own}"
        return f"{place} has no TLS: leave out Stream_Public_Certificate and Kafka_Tls, or name its port for TLS"
    except OSError:
        return f"{place} has no TLS: leave out Stream_Public_Certificate and Kafka_Tls, or name its port for TLS"
    if sasl:
        return ""
    return f"{place} ends the connection after TLS: it may want a user (Kafka_Authentication_Method), or {own}"


def _handshake(host: str, port: int, context: ssl.SSLContext) -> None:
    with (
        socket.create_connection((host, port), _TIMEOUT_S) as plain,
        context.wrap_socket(plain, server_hostname=host) as tls,
    ):
        tls.settimeout(0.2)
        with contextlib.suppress(TimeoutError):
            tls.recv(1)  # with TLS 1.3 a certificate of ours that is refused is reported after the handshake


def _any_certificate() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _as_configured(properties: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context that verifies what librdkafka does, and shows the same certificate."""
    if properties.get("enable.ssl.certificate.verification", "true").strip().lower() == "false":
        context = _any_certificate()
    else:
        location = properties.get("ssl.ca.location")
        context = ssl.create_default_context(cafile=location, cadata=properties.get("ssl.ca.pem"))
        context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https").strip() != "none"
    with _file(properties, "ssl.certificate") as certificate, _file(properties, "ssl.key") as key:
        if certificate and key:
            context.load_cert_chain(certificate, key, properties.get("ssl.key.password"))
    return context


@contextlib.contextmanager
def _file(properties: Mapping[str, str], name: str) -> Iterator[str | None]:
    """Yield the file of a certificate or key; of text a file of our own that goes again, for ssl reads nothing else."""
    text = properties.get(f"{name}.pem")
    if text is None:
        yield properties.get(f"{name}.location")
        return
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # mode 0600
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
        yield file.name
