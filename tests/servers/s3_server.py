"""A server of S3, by moto, in a process of its own; started when the first test asks for it."""

from __future__ import annotations

import functools
import importlib.util
import sys
import urllib.request

import pytest

from servers.processes import free_port, scratch_folder, start

BUCKET = "lake"


@functools.cache
def server() -> str:
    """The address of a running server that has a bucket; skips the test if there can be none."""
    if importlib.util.find_spec("moto") is None:
        pytest.skip("there is no moto; make test-spark has it")
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    start(command, port, scratch_folder() / "log")
    address = f"http://127.0.0.1:{port}"
    urllib.request.urlopen(urllib.request.Request(f"{address}/{BUCKET}", method="PUT"), timeout=60).close()
    return address


def settings(address: str) -> dict[str, str]:
    """What Spark must know to find it under `s3a://`."""
    values = {
        "endpoint": address,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "access.key": "test",
        "secret.key": "test",
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }
    return {f"fs.s3a.{name}": value for name, value in values.items()}
