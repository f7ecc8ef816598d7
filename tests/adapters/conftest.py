"""Servers that run for as long as the tests, and certificates they can show."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

import pytest
import trustme

from .certificates import Certificates
from .servers import aiohttp_server, http2_server, starlette_server, tls_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .servers import RealServer


@pytest.fixture(scope="session", autouse=True)
def _quick_turns() -> Iterator[None]:
    """Servers and clients are threads that wait for each other, and many tests collect garbage.

    They find what was not closed by that; what is there now, none of them has left.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.0002)
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    sys.setswitchinterval(interval)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    made = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    authority = trustme.CA()
    server = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(str(made.ca_path))
    server.private_key_pem.write_to_path(str(made.key_path))
    for part in server.cert_chain_pems:
        part.write_to_path(str(made.cert_path), append=True)
    return made


@pytest.fixture(scope="session")
def real_starlette() -> Iterator[RealServer]:
    with starlette_server() as server:
        yield server


@pytest.fixture(scope="session")
def real_aiohttp() -> Iterator[RealServer]:
    with aiohttp_server() as server:
        yield server


@pytest.fixture(scope="session", params=["real_starlette", "real_aiohttp"])
def real_server(request: pytest.FixtureRequest) -> RealServer:
    """One after the other, for what must work with any of them."""
    server: RealServer = request.getfixturevalue(request.param)
    return server


@pytest.fixture(scope="session")
def real_tls(certificates: Certificates) -> Iterator[RealServer]:
    with tls_server(certificates.cert_path, certificates.key_path) as server:
        yield server


@pytest.fixture(scope="session")
def real_http2(certificates: Certificates) -> Iterator[RealServer]:
    with http2_server(certificates.cert_path, certificates.key_path) as server:
        yield server
