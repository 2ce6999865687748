"""Runs a command beside a Kafka broker and a PostgreSQL server: `PYTHONPATH=tests python -m servers COMMAND...`."""

from __future__ import annotations

import os
import subprocess
import sys

from penstock.bench.changes import KAFKA, POSTGRES
from servers import jars
from servers.kafka_broker import broker
from servers.postgres_server import server

if __name__ == "__main__":
    connector = {"PENSTOCK_JARS": str(jars.folder(jars.CONNECTOR))}
    sys.exit(
        subprocess.run(sys.argv[1:], env={**connector, **os.environ, KAFKA: broker(), POSTGRES: server()}).returncode
    )
