"""The JAAS text that Java's clients have in sasl.jaas.config -> the properties of a Kafka location.

Its grammar: https://docs.oracle.com/javase/8/docs/api/javax/security/auth/login/Configuration.html; Kafka's modules:
https://kafka.apache.org/documentation/#security_sasl_jaasconfig.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType

from integrator.channel import paths
from integrator.channel.access import KafkaAccess
from integrator.channel.problems import Report
from integrator.channel.secret import SENSITIVE, TOO_SHORT, Secrets, is_too_short

KEY = "Sasl_Jaas_Config"
_TOKEN = re.compile(
    r"""\s*(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<sign>[=;])|(?P<word>[^\s=;"']+))""",
    re.DOTALL,
)
_LOGIN = MappingProxyType({"username": "Stream_User", "password": "Stream_Password"})


@dataclass(frozen=True)
class _Module:
    """What a login module is for: methods, the first of which it means alone, and its options as our properties."""

    methods: tuple[str, ...]
    options: MappingProxyType[str, str]
    idle: tuple[str, ...] = ()


MODULES = {
    "PlainLoginModule": _Module(("USER_PASS",), _LOGIN),
    "ScramLoginModule": _Module(("SCRAM-SHA-256", "SCRAM-SHA-512"), _LOGIN),
    "OAuthBearerLoginModule": _Module(
        ("OAUTHBEARER",),
        MappingProxyType({"clientId": "Stream_User", "clientSecret": "Stream_Password", "scope": "Kafka_Oauth_Scope"}),
    ),
    "Krb5LoginModule": _Module(
        ("KERBEROS",),
        MappingProxyType(
            {
                "principal": "Kafka_Kerberos_Client_Principal",
                "keyTab": "Kafka_Kerberos_Keytab",
                "serviceName": "Kafka_Kerberos_Service",
            }
        ),
        ("useKeyTab", "storeKey", "doNotPrompt", "refreshKrb5Config", "isInitiator", "debug"),
    ),
    "IAMLoginModule": _Module(
        ("AWS_MSK_IAM",),
        MappingProxyType({"awsProfileName": "Kafka_Aws_Profile", "awsRoleArn": "Kafka_Aws_Role"}),
        ("awsDebugCreds",),
    ),
}
"""Login modules by the last part of their class name."""


def applied(location: KafkaAccess, report: Report, directory: str) -> KafkaAccess:
    """Return the location with what its JAAS text says in the place of that text; problems go to `report`.

    directory: of the channel's file, beside which a keytab is.
    """
    text = location.Sasl_Jaas_Config
    if text is None:
        return location
    words = _words(text)
    if words is None or len(words) < 2:
        report(KEY, 'is no JAAS text; MODULE required NAME="VALUE" …; is, as in Java\'s sasl.jaas.config')
        return location
    module, options = words[0].rpartition(".")[2], dict(word.partition("=")[::2] for word in words[2:])
    if module not in MODULES:
        report(KEY, f"the login module {words[0]} is not there; {', '.join(MODULES)} are")
        return location
    found = MODULES[module]
    method: str = location.Kafka_Authentication_Method
    if method == "NONE" and len(found.methods) == 1:
        method = found.methods[0]
    if method not in found.methods:
        report(KEY, f"{module} goes with Kafka_Authentication_Method {' or '.join(found.methods)}; found {method}")
    values: dict[str, object] = {"Kafka_Authentication_Method": method, KEY: None}
    extensions = {}
    for name, value in options.items():
        ours = found.options.get(name)
        if ours is not None and getattr(location, ours) is not None:
            report(ours, f"{KEY} has it too, as {name}; use one of them")
        elif ours is not None:
            if SENSITIVE.search(ours) and is_too_short(value):
                report(KEY, f"{name}: {TOO_SHORT}")
            values[ours] = paths.resolved(value, directory) if ours == "Kafka_Kerberos_Keytab" else value
        elif name.startswith("extension_") and "OAUTHBEARER" in found.methods:
            extensions[name.removeprefix("extension_")] = value
        elif name not in found.idle:
            report(KEY, f"the option {name} of {module} is not known; {', '.join(found.options)} are")
    if extensions:
        values["Kafka_Oauth_Extensions"] = extensions
    return location.model_copy(update=values)


def hide(text: str | None, secrets: Secrets) -> None:
    """I7: know the passwords in a JAAS text before anything can be written of it; where it is none, all of it."""
    if text is None:
        return
    secrets.add(text)
    for word in _words(text) or ():
        name, _, value = word.partition("=")
        if "passw" in name.lower() or "secret" in name.lower():
            secrets.add(value)


def _words(text: str) -> list[str] | None:
    """Return a JAAS entry's module, its flag, and NAME=VALUE of each option; None where the text is not one entry."""
    parts: list[str] = []
    joined, at = False, 0
    while at < len(text.rstrip()):
        found = _TOKEN.match(text, at)
        if found is None or (parts and parts[-1] == ";"):
            return None
        at = found.end()
        quoted = found["double"] if found["double"] is not None else found["single"]
        value = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) if quoted is not None else found["word"]
        if found["sign"] == "=":
            if not parts or joined or "=" in parts[-1]:
                return None
            parts[-1] += "="
            joined = True
        elif found["sign"] == ";":
            parts.append(";")
        elif joined:
            parts[-1] += value
            joined = False
        else:
            parts.append(value)
    if parts and parts[-1] == ";":
        parts.pop()
    return None if joined or not all("=" in part for part in parts[2:]) else parts
