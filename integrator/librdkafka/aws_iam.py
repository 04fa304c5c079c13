"""Amazon MSK's access by AWS IAM: SASL/OAUTHBEARER, whose token is a request to MSK that AWS credentials signed.

AWS's own library makes the tokens, which are good for 15 minutes; librdkafka asks for the next one in time.
https://docs.aws.amazon.com/msk/latest/developerguide/configure-clients-for-iam-access-control.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from integrator.errors import EnvironmentFault
from integrator.extras import Library

REGION, PROFILE, ROLE = "aws.msk.iam.region", "aws.msk.iam.profile", "aws.msk.iam.role"
"""Properties of a client that are ours: librdkafka never sees them."""
OWN = (REGION, PROFILE, ROLE)
_SIGNER = Library("aws", "AWS_MSK_IAM", "aws_msk_iam_sasl_signer", "MSKAuthTokenProvider")

Signer: TypeAlias = "Callable[[], tuple[str, int]]"
"""Returns a token, and when it ends: milliseconds since 1970. Raises EnvironmentFault."""


def signer_of(properties: Mapping[str, str]) -> Signer | None:
    """Return what makes the tokens of a client; None where its properties ask for none. Raises EnvironmentFault."""
    if REGION not in properties:
        return None
    provider = _SIGNER.load().MSKAuthTokenProvider
    region, profile, role = (properties.get(name) for name in OWN)

    def sign() -> tuple[str, int]:
        try:
            if role is not None:
                token, end = provider.generate_auth_token_from_role_arn(region, role)
            elif profile is not None:
                token, end = provider.generate_auth_token_from_profile(region, profile)
            else:
                token, end = provider.generate_auth_token(region)
        except Exception as error:  # whatever AWS's libraries raise: they share no class
            none = isinstance(error, AttributeError) and "NoneType" in str(error)  # the library's, for no credentials
            reason = "no credentials were found" if none else str(error) or type(error).__name__
            raise EnvironmentFault(
                f"AWS gives no token for Amazon MSK in {region}: {reason}; give the process credentials (a role of its "
                "machine, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or Kafka_Aws_Profile), or mend Kafka_Aws_Role"
            ) from error
        return token, end

    return sign


def without_own(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that librdkafka knows."""
    return {name: value for name, value in properties.items() if name not in OWN}


def client_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a client of confluent-kafka's. Raises EnvironmentFault where no token can be made."""
    signer = signer_of(properties)
    if signer is None:
        return dict(properties)
    signer()  # its reason is ours to report: the client would only say that it has no token

    def token(_config: str) -> tuple[str, float]:
        made, end = signer()
        return made, end / 1000

    return {**without_own(properties), "oauth_cb": token}
