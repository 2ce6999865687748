"""Its place puts this folder on the import path, so that all tests find the helpers that lie here."""

import os

from servers import jars

if jars.missing() is None:
    # The one Spark session of the tests has the Kafka connector from its start.
    os.environ.setdefault("PENSTOCK_JARS", str(jars.folder(jars.CONNECTOR)))
