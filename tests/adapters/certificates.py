"""A throw-away authority's certificate and what it signed, as files and as contexts."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Certificates(NamedTuple):
    """PEM files for localhost and 127.0.0.1.

    Each context is a new one: clients write the protocols they offer into the one they are given.
    """

    ca_path: Path
    cert_path: Path
    key_path: Path

    @property
    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert_path, self.key_path)
        return context

    @property
    def client_context(self) -> ssl.SSLContext:
        """Trusts this authority and no other."""
        return ssl.create_default_context(cafile=str(self.ca_path))
