"""Links that are limited carry no more than they are told, and nothing of them is left."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.spark.cluster.limited_network import can_limit, in_own_network

SCRIPT = """
import socket, subprocess, sys, time
from penstock.spark.cluster.limited_network import limited_network

SEND = "import socket; c = socket.create_connection(('10.77.0.3', 5000)); c.sendall(bytes(600_000)); c.close()"
TAKE = '''
import socket, time
s = socket.create_server(("10.77.0.3", 5000)); print("ready", flush=True)
c, _ = s.accept(); began = time.monotonic(); n = 0
while piece := c.recv(1 << 16): n += len(piece)
print(n * 8 / (time.monotonic() - began) / 1e6)
'''
with limited_network(2, 8.0) as sites:
    assert [site.host for site in sites] == ["10.77.0.2", "10.77.0.3"]
    taker = subprocess.Popen([*sites[1].enter, sys.executable, "-c", TAKE], stdout=subprocess.PIPE, text=True)
    taker.stdout.readline()
    subprocess.run([*sites[0].enter, sys.executable, "-c", SEND], check=True)
    print(taker.communicate()[0])
"""


@pytest.mark.skipif(not can_limit(), reason="this machine has no network namespaces for us, or no tc")
def test_a_link_carries_no_more_than_it_is_told() -> None:
    command = in_own_network([sys.executable, "-c", SCRIPT])
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 16.0
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert "penstock2" not in left
