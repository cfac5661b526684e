"""AWS Signature Version 4, and where the key for it is found.

Covered: requests without a query, of any service. The key comes from the environment, else from the shared credentials
file. Not covered: single sign-on, roles, the metadata services of containers and machines (`aws configure
export-credentials --format env` gives their keys as environment variables).
"""

from __future__ import annotations

import configparser
import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from brokerlab.errors import UserError

_KEY, _SECRET, _TOKEN = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
_FILE, _PROFILE = "AWS_SHARED_CREDENTIALS_FILE", "AWS_PROFILE"


@dataclass(frozen=True)
class Credentials:
    key: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)  # of temporary ones


def find_credentials(environment: Mapping[str, str] = os.environ) -> Credentials:
    """In the order of AWS's own tools. Raises UserError that names the places which were looked at."""
    found: Mapping[str, str] = {name.lower(): value for name, value in environment.items() if value}
    if _KEY.lower() not in found:
        found = _in_file(environment)
    if _KEY.lower() in found and _SECRET.lower() in found:
        return Credentials(found[_KEY.lower()], found[_SECRET.lower()], found.get(_TOKEN.lower()))
    hint = f"set {_KEY} and {_SECRET}, or {_FILE} and {_PROFILE}"
    raise UserError("no AWS credentials in the environment or in the shared credentials file", hint=hint)


def _in_file(environment: Mapping[str, str]) -> Mapping[str, str]:
    path = Path(environment.get(_FILE) or "~/.aws/credentials").expanduser()
    profile = environment.get(_PROFILE) or "default"
    file = configparser.RawConfigParser()
    try:
        file.read(path)
    except (configparser.Error, UnicodeDecodeError) as e:
        raise UserError(f"{path} is not a file of AWS credentials: {type(e).__name__}") from None  # no line of it
    return dict(file.items(profile)) if file.has_section(profile) else {}


@dataclass(frozen=True)
class Signer:
    credentials: Credentials
    region: str
    service: str

    def signed(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, now: datetime | None = None
    ) -> dict[str, str]:
        """The headers, whose names are in lower case, with those that prove who sends them. All are signed."""
        at = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
        token = {} if self.credentials.token is None else {"x-amz-security-token": self.credentials.token}
        all_headers = {**headers, "x-amz-date": at, **token}
        names = sorted(all_headers)
        lines = [f"{name}:{' '.join(all_headers[name].split())}" for name in names]
        listed = ";".join(names)
        canonical = "\n".join([method, path, "", *lines, "", listed, hashlib.sha256(body).hexdigest()])
        scope = f"{at[:8]}/{self.region}/{self.service}/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", at, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        signature = hmac.new(self._key(at[:8]), text.encode(), hashlib.sha256).hexdigest()
        proof = f"Credential={self.credentials.key}/{scope}, SignedHeaders={listed}, Signature={signature}"
        return {**all_headers, "authorization": f"AWS4-HMAC-SHA256 {proof}"}

    def _key(self, day: str) -> bytes:
        key = f"AWS4{self.credentials.secret}".encode()
        for part in (day, self.region, self.service, "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return key
