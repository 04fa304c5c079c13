"""Who we are to brokers and registries, and how they and we prove it, with HVR's property names.

https://fivetran.com/docs/hvr6/property-reference/location-properties.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from integrator.channel.base import Counted, Model
from integrator.channel.paths import LocalPath, local, local_or_text

Given = Annotated[str, Field(min_length=1)]
GivenFile = Annotated[Given, AfterValidator(local)]
GivenPem = Annotated[Given, AfterValidator(local_or_text)]
"""A file with a certificate or a key, or its text."""


class KafkaAccess(Model):
    """Authentication and TLS of a Kafka location. Files are searched for at the same path on every worker."""

    Kafka_Authentication_Method: Literal[
        "NONE", "USER_PASS", "KERBEROS", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"
    ] = Field(
        "NONE",
        description="How the integrator authenticates, in addition to a certificate. USER_PASS: SASL/PLAIN, "
        "unencrypted without TLS. KERBEROS: SASL/GSSAPI; librdkafka needs libsasl2. OAUTHBEARER: a "
        "token of an OpenID Connect provider (extension). AWS_MSK_IAM: AWS credentials, found as "
        "AWS's tools find them; pip install 'integrator[aws]' (extension).",
    )
    Stream_User: Given | None = Field(None, description="The user, for USER_PASS and SCRAM; OAUTHBEARER's client id.")
    Stream_Password: Given | None = Field(
        None, repr=False, description="The user's password, or the client's secret, preferably as ${NAME}."
    )
    Sasl_Jaas_Config: Given | None = Field(
        None,
        repr=False,
        description="sasl.jaas.config of Java's clients, instead of user, password, principal and keytab (extension).",
    )
    Kafka_Oauth_Token_Url: Given | None = Field(
        None, description="Where OAUTHBEARER's tokens are issued, as https://… (extension)."
    )
    Kafka_Oauth_Scope: Given | None = Field(None, description="The scope that is asked for (extension).")
    Kafka_Oauth_Extensions: dict[str, str] | None = Field(
        None, description="SASL extensions that go with the token, such as logicalCluster (extension)."
    )
    Kafka_Oauth_Authority: GivenFile | None = Field(
        None, description="PEM file of the authority that signed the token URL's certificate (extension)."
    )
    Kafka_Aws_Region: Given | None = Field(
        None, description="The region of the Amazon MSK cluster, such as eu-west-1 (extension)."
    )
    Kafka_Aws_Profile: Given | None = Field(
        None, description="The profile in AWS's configuration files whose credentials are used (extension)."
    )
    Kafka_Aws_Role: Given | None = Field(
        None, description="The ARN of the role that is assumed, instead of a profile (extension)."
    )
    Kafka_Kerberos_Service: Given | None = Field(
        None, description="The service part of the brokers' principal; by default kafka."
    )
    Kafka_Kerberos_Client_Principal: Given | None = Field(None, description="Our principal, for KERBEROS.")
    Kafka_Kerberos_Keytab: GivenFile | None = Field(None, description="The keytab file of our principal, for KERBEROS.")
    Stream_Public_Certificate: GivenPem | None = Field(
        None,
        description="PEM file of the authority that signed the brokers' certificates, or its text; turns TLS on.",
    )
    Kafka_Tls: bool = Field(
        False,
        description="Turns TLS on where there is no Stream_Public_Certificate: an authority that the system knows"
        " signed the brokers' certificates (extension).",
    )
    Stream_Client_Public_Certificate: GivenPem | None = Field(
        None, description="PEM file of our certificate, or its text, for mutual TLS."
    )
    Stream_Client_Private_Key: GivenPem | None = Field(
        None, repr=False, description="PEM file of its key, or its text, preferably as ${NAME}."
    )
    Stream_Client_Private_Key_Password: Given | None = Field(
        None, repr=False, description="That key's password, preferably as ${NAME}."
    )


class RegistryConnection(Model):
    """How a schema registry is reached (extension)."""

    Bearer_Token: str | None = Field(None, repr=False, description="A token, in the place of user and password.")
    CA_Certificate: LocalPath | None = Field(None, description="PEM file of the authority that signed its certificate.")
    Client_Certificate: LocalPath | None = Field(None, description="PEM file of our certificate, for mutual TLS.")
    Client_Private_Key: LocalPath | None = Field(
        None, description="PEM file of its key, where it is not in the same file."
    )
    Client_Private_Key_Password: str | None = Field(None, repr=False, description="That key's password.")
    Retries: Annotated[int, Field(ge=0, le=100)] = Field(5, description="How often a request is tried again.")
    Timeout_Seconds: Annotated[float, Field(gt=0, le=600), Counted("seconds")] = Field(
        10, description="How long a whole answer may take."
    )


class RegistryLocation(Model):
    """A location whose messages may have schemas in a registry."""

    Kafka_Schema_Registry: str | list[str] | None = Field(
        None, description="URL of a Confluent-compatible schema registry, or several that share their schemas."
    )
    Kafka_Schema_User: str | None = Field(None, description="The registry's user, for basic authentication.")
    Kafka_Schema_Registry_Password: str | None = Field(
        None, repr=False, description="That user's password, preferably as ${NAME}."
    )
    Schema_Registry: RegistryConnection = Field(
        default_factory=RegistryConnection, description="How the registry is reached (extension)."
    )
