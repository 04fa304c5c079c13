"""The JAAS text that Java's clients have in sasl.jaas.config -> the properties of a Kafka location.

Its grammar: https://docs.oracle.com/javase/8/docs/api/javax/security/auth/login/Configuration.html; Kafka's modules:
https://kafka.apache.org/documentation/#security_sasl_jaasconfig.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    name, options = words[0].rpartition(".")[2], dict(word.partition("=")[::2] for word in words[2:])
    if name not in MODULES:
        report(KEY, f"the login module {words[0]} is not there; {', '.join(MODULES)} are")
        return location
    values = _options(name, options, location, report)
    if "Kafka_Kerberos_Keytab" in values:
        values["Kafka_Kerberos_Keytab"] = paths.resolved(values["Kafka_Kerberos_Keytab"], directory)
    update: dict[str, object] = {"Kafka_Authentication_Method": _method(name, location, report), KEY: None, **values}
    extensions = _extensions(name, options)
    return location.model_copy(update=update | ({"Kafka_Oauth_Extensions": extensions} if extensions else {}))


def _method(name: str, location: KafkaAccess, report: Report) -> str:
    """Return the method that a login module goes with: the location's, or else the only one."""
    method, methods = location.Kafka_Authentication_Method, MODULES[name].methods
    if method == "NONE" and len(methods) == 1:
        return methods[0]
    if method not in methods:
        report(KEY, f"{name} goes with Kafka_Authentication_Method {' or '.join(methods)}; found {method}")
    return method


def _options(name: str, options: Mapping[str, str], location: KafkaAccess, report: Report) -> dict[str, str]:
    """Return the options of a login module, as keys of the location; those that are not known are reported."""
    module, values = MODULES[name], dict[str, str]()
    for option, value in options.items():
        ours = module.options.get(option)
        if ours is not None and getattr(location, ours) is not None:
            report(ours, f"{KEY} has it too, as {option}; use one of them")
        elif ours is not None:
            if SENSITIVE.search(ours) and is_too_short(value):
                report(KEY, f"{option}: {TOO_SHORT}")
            values[ours] = value
        elif option not in module.idle and not _is_extension(name, option):
            report(KEY, f"the option {option} of {name} is not known; {', '.join(module.options)} are")
    return values


_EXTENSION = "extension_"


def _is_extension(name: str, option: str) -> bool:
    return option.startswith(_EXTENSION) and "OAUTHBEARER" in MODULES[name].methods


def _extensions(name: str, options: Mapping[str, str]) -> dict[str, str]:
    return {one.removeprefix(_EXTENSION): value for one, value in options.items() if _is_extension(name, one)}


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
