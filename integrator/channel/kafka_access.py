"""Authentication and TLS of a Kafka location -> librdkafka's properties.

Names and defaults: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from integrator.channel import jaas
from integrator.channel.access import KafkaAccess
from integrator.channel.paths import PEM_TEXT, as_known, no_file
from integrator.channel.problems import Report
from integrator.channel.secret import Secrets
from integrator.librdkafka import aws_iam

MECHANISMS = {
    "USER_PASS": "PLAIN",
    "KERBEROS": "GSSAPI",
    "SCRAM-SHA-256": "SCRAM-SHA-256",
    "SCRAM-SHA-512": "SCRAM-SHA-512",
    "OAUTHBEARER": "OAUTHBEARER",
    "AWS_MSK_IAM": "OAUTHBEARER",
}

_AWS_METHOD = "AWS_MSK_IAM"
_USER = {"sasl.username": "Stream_User", "sasl.password": "Stream_Password"}
_PRINCIPAL = {
    "sasl.kerberos.principal": "Kafka_Kerberos_Client_Principal",
    "sasl.kerberos.keytab": "Kafka_Kerberos_Keytab",
}
_OAUTH_USER = {"sasl.oauthbearer.client.id": "Stream_User", "sasl.oauthbearer.client.secret": "Stream_Password"}
_OAUTH = {
    "sasl.oauthbearer.token.endpoint.url": "Kafka_Oauth_Token_Url",
    "sasl.oauthbearer.scope": "Kafka_Oauth_Scope",
    "sasl.oauthbearer.extensions": "Kafka_Oauth_Extensions",
    "https.ca.location": "Kafka_Oauth_Authority",
}
_AWS = {aws_iam.REGION: "Kafka_Aws_Region", aws_iam.PROFILE: "Kafka_Aws_Profile", aws_iam.ROLE: "Kafka_Aws_Role"}
_KERBEROS = {"sasl.kerberos.service.name": "Kafka_Kerberos_Service", **_PRINCIPAL}
_CLIENT = {
    "ssl.certificate.location": "Stream_Client_Public_Certificate",
    "ssl.key.location": "Stream_Client_Private_Key",
    "ssl.key.password": "Stream_Client_Private_Key_Password",
}
_AUTHORITY = {"ssl.ca.location": "Stream_Public_Certificate"}
_SET_BY = {
    "security.protocol": "Kafka_Authentication_Method, Stream_Public_Certificate and Kafka_Tls",
    "sasl.mechanism": "Kafka_Authentication_Method",
    **_USER,
    **_OAUTH_USER,
    **_OAUTH,
    **_AWS,
    **_KERBEROS,
    **_AUTHORITY,
    **_CLIENT,
}
_AS_TEXT = {
    "ssl.ca.location": "ssl.ca.pem",
    "ssl.certificate.location": "ssl.certificate.pem",
    "ssl.key.location": "ssl.key.pem",
}
_BY_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_ALIASES = {"sasl.mechanisms": "sasl.mechanism"}
_FILES = {
    "Stream_Public_Certificate": "a PEM file",
    "Stream_Client_Public_Certificate": "a PEM file",
    "Stream_Client_Private_Key": "a PEM file",
    "Kafka_Kerberos_Keytab": "a keytab",
    "Kafka_Oauth_Authority": "a PEM file",
}


def hide(location: KafkaAccess, secrets: Secrets) -> None:
    """I7: know the passwords before anything can be written of them."""
    key = location.Stream_Client_Private_Key or ""
    for secret in (location.Stream_Password, location.Stream_Client_Private_Key_Password, key):
        if secret is not key or PEM_TEXT in key:
            secrets.add(secret or "")
    jaas.hide(location.Sasl_Jaas_Config, secrets)


def access_properties(location: KafkaAccess, report: Report, directory: str) -> dict[str, str]:
    """Return librdkafka's properties: none where the location says nothing, which is PLAINTEXT.

    Without Stream_Public_Certificate, ssl.ca.location keeps librdkafka's default: the system's authorities. directory:
    of the channel's file.
    """
    location = jaas.applied(location, report, directory)
    mechanism = MECHANISMS.get(location.Kafka_Authentication_Method)
    tls = location.Kafka_Tls or location.Stream_Public_Certificate is not None
    _check_method(location, report)
    _check_tls(location, report, tls=tls)
    _check_aws(location, report, tls=tls)
    _check_files(location, report)
    if not tls and mechanism is None:
        return {}
    properties = {"security.protocol": ("SASL_" if mechanism else "") + ("SSL" if tls else "PLAINTEXT")}
    if mechanism:
        properties["sasl.mechanism"] = mechanism
    return properties | {_named(name, value): value for name, value in _given(location).items() if value is not None}


def _given(location: KafkaAccess) -> dict[str, str | None]:
    """Return what the location gives for librdkafka's properties, by their names."""
    by_token = location.Kafka_Authentication_Method == "OAUTHBEARER"
    user = {**_OAUTH_USER, **_OAUTH} if by_token else _USER
    keys = {**user, **_AWS, **_KERBEROS, **_AUTHORITY, **_CLIENT}
    given: dict[str, str | None] = {name: getattr(location, key) for name, key in keys.items()}
    if by_token:
        given["sasl.oauthbearer.method"] = "oidc"
        given["sasl.oauthbearer.extensions"] = _joined(location.Kafka_Oauth_Extensions)
    return given


def _check_files(location: KafkaAccess, report: Report) -> None:
    for key, kind in _FILES.items():
        path = getattr(location, key)
        if path is not None and PEM_TEXT not in path and (why := no_file(path)):
            is_authority = key == "Stream_Public_Certificate"
            other = ", or Kafka_Tls: true where the system knows the authority" if is_authority else ""
            report(key, f"{why} {as_known(path)!r}; {kind} is expected{other}")


def _named(name: str, value: str) -> str:
    """Return librdkafka's property for a certificate or key: as text, if it is text."""
    return _AS_TEXT.get(name, name) if PEM_TEXT in value else name


def _joined(extensions: Mapping[str, str] | None) -> str | None:
    return ",".join(f"{name}={value}" for name, value in extensions.items()) if extensions else None


def access_notes(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield what is allowed and unsafe in librdkafka's properties: a password in clear, certificates not verified."""
    protocol = properties.get("security.protocol", "plaintext").upper()
    if protocol == "SASL_PLAINTEXT":
        mechanism = properties.get("sasl.mechanism", "").upper()
        shown = "the password goes over the network as it is" if mechanism == "PLAIN" else "messages are not encrypted"
        yield f"Kafka without TLS: {shown}; turn TLS on with Stream_Public_Certificate or Kafka_Tls"
    off = "; anyone on the network path can read and change messages"
    if properties.get("enable.ssl.certificate.verification", "true").strip().lower() == "false":
        yield f"enable.ssl.certificate.verification=false: the brokers' certificates are not verified{off}"
    elif "SSL" in protocol and properties.get("ssl.endpoint.identification.algorithm", "https").strip() == "none":
        yield f"ssl.endpoint.identification.algorithm=none: any host's certificate is taken for the broker's{off}"


def _check_method(location: KafkaAccess, report: Report) -> None:
    """Each method has what it needs, and nothing that it would not use."""
    method = location.Kafka_Authentication_Method
    by_user = [name for name in MECHANISMS if name not in ("KERBEROS", _AWS_METHOD)]
    needed = {*_USER.values(), *_PRINCIPAL.values(), "Kafka_Oauth_Token_Url", "Kafka_Aws_Region"}
    others = ((_KERBEROS, ["KERBEROS"]), (_OAUTH, ["OAUTHBEARER"]), (_AWS, [_AWS_METHOD]))
    for keys, methods in ((_USER, by_user), *others):
        for key in keys.values():
            given = getattr(location, key) is not None
            if given and method not in methods:
                text = f"does nothing with Kafka_Authentication_Method {method}; it is for {', '.join(methods)}"
                report(key, text)
            elif not given and method in methods and key in needed:
                report("Kafka_Authentication_Method", f"{method} needs {key} beside it")


def _check_aws(location: KafkaAccess, report: Report, *, tls: bool) -> None:
    """Check that AWS's tokens are encrypted, for they are good for whoever reads them; and where credentials are."""
    if location.Kafka_Authentication_Method == _AWS_METHOD and not tls:
        report("Kafka_Authentication_Method", f"{_AWS_METHOD} needs TLS, as Amazon MSK has it: add Kafka_Tls: true")
    if location.Kafka_Aws_Profile is not None and location.Kafka_Aws_Role is not None:
        report("Kafka_Aws_Role", "excludes Kafka_Aws_Profile; the role is assumed with the usual credentials")


def _check_tls(location: KafkaAccess, report: Report, *, tls: bool) -> None:
    """Certificate and key go together, the key's password with the key, and all of them with TLS."""
    certificate, key = location.Stream_Client_Public_Certificate, location.Stream_Client_Private_Key
    if certificate is not None and key is None:
        report("Stream_Client_Public_Certificate", "needs its key, Stream_Client_Private_Key, beside it")
    if key is not None and certificate is None:
        report("Stream_Client_Private_Key", "needs its certificate, Stream_Client_Public_Certificate, beside it")
    if location.Stream_Client_Private_Key_Password is not None and key is None:
        report("Stream_Client_Private_Key_Password", "needs the key, Stream_Client_Private_Key, beside it")
    if certificate is not None and not tls:
        text = "does nothing without TLS, which Stream_Public_Certificate or Kafka_Tls turns on"
        report("Stream_Client_Public_Certificate", text)
    if location.Stream_Public_Certificate is not None and "Kafka_Tls" in location.model_fields_set:
        report("Kafka_Tls", "Stream_Public_Certificate turns TLS on already; leave this out")


def key_of(name: str) -> str:
    """Return the key of the Kafka location that sets a property of librdkafka's; nothing where none does."""
    return _SET_BY.get(name.replace(".pem", ".location"), "").partition(",")[0]


def key_in(location: KafkaAccess, text: str) -> str:
    """Return the key that sets a property which librdkafka's `text` names; nothing where it names none."""
    named = (key_of(name) for name in _SET_BY if name in text)
    return next((key for key in named if key and getattr(location, key, None) is not None), "")


def checked_beside(extra: Mapping[str, str], access: Mapping[str, str], report: Report) -> dict[str, str]:
    """Return `extra`, HVR_KAFKA_PROPERTY's properties, each under one name.

    What the location sets too, or what its protocol ignores, is reported.
    """
    protocol = access.get("security.protocol", "")
    given = extra.get("security.protocol", "").strip().upper()
    if given.startswith("SASL") and not {"sasl.mechanism", "sasl.mechanisms"} & extra.keys():
        report(
            "HVR_KAFKA_PROPERTY",
            f"security.protocol={given} alone means Kerberos (sasl.mechanism=GSSAPI); leave it out, and say "
            "Kafka_Authentication_Method and Kafka_Tls at the Kafka location, or give sasl.mechanism beside it",
        )
    for name in extra:
        parameter = _ALIASES.get(name, name)
        if parameter == "sasl.mechanism" and access.get(parameter) == "PLAIN":  # of USER_PASS: as HVR has it for MSK
            if extra[name].strip() in _BY_PASSWORD:
                continue
            text = f"{name} of USER_PASS is {', '.join(_BY_PASSWORD)}; for others set Kafka_Authentication_Method"
        elif parameter in access or parameter in _AWS:
            text = f"{name} is set by {_SET_BY[parameter]} of the Kafka location; use one of them"
        elif protocol and name.startswith("ssl.") and "SSL" not in protocol:
            text = f"{name} does nothing without TLS, which Stream_Public_Certificate or Kafka_Tls turns on"
        elif protocol and name.startswith("sasl.") and "SASL" not in protocol:
            text = f"{name} does nothing without a Kafka_Authentication_Method"
        else:
            continue
        report("HVR_KAFKA_PROPERTY", text)
    return {_ALIASES.get(name, name): value for name, value in extra.items()}
