"""Functions that ask about the job, its host and its consistent region.

Every job is consistent as a whole and has no regions: what asks about one gets the answer that SPL gives to an operator
outside of all regions.
"""

from __future__ import annotations

import getpass
import os
import socket
import tempfile
from pathlib import Path

from penstock.base.secret_references import reveal_named
from penstock.expr.environment import Environment
from penstock.expr.functions.registry import function


@function("stateful uint64 jobID()", "stateful uint64 PEID()")
def job_number() -> int:
    """0, as in SPL's standalone runs: jobs and PEs have no numbers that a program could use."""
    return 0


@function("stateful rstring getJobGroup()")
def job_group() -> str:
    """The group of the job, which is `default`."""
    return "default"


@function("stateful rstring instanceID()", "stateful rstring domainID()")
def user_name() -> str:
    """The name of the user, as in SPL's standalone runs."""
    return getpass.getuser()


@function("stateful rstring getHostName()", "stateful rstring getConfiguredHostName()")
def host_name() -> str:
    """The name of the host that this runs on."""
    return socket.gethostname()


@function("stateful rstring getShortHostName()")
def short_host_name() -> str:
    """The name of the host that this runs on, without its domain."""
    return socket.gethostname().partition(".")[0]


@function("stateful rstring getIPAddress()")
def host_address() -> str:
    """The address of the host that this runs on."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


@function("stateful rstring mktemp(rstring pattern)", needs_environment=True)
def make_temporary(environment: Environment, pattern: str) -> str:
    """Make a file whose name ends in other letters than the six X of a pattern; gives its name, or an empty string."""
    path = environment.output_directory / pattern
    if not path.name.endswith("XXXXXX"):
        return ""
    try:
        descriptor, made = tempfile.mkstemp(prefix=path.name.removesuffix("XXXXXX"), dir=path.parent)
    except OSError:
        return ""
    os.close(descriptor)
    return str(Path(pattern).with_name(Path(made).name))


@function(
    "boolean isInConsistentRegion()",
    "boolean isStartOfConsistentRegion()",
    "boolean isEndOfConsistentRegion()",
    "boolean isTriggerOfConsistentRegion()",
)
def is_in_region() -> bool:
    """Whether the operator is in, or has a part in, a consistent region: no."""
    return False


@function("boolean isControlInputPort(uint32 port)", "boolean isConsistentInputPort(uint32 port)")
def is_port_of_region(port: int) -> bool:
    """Whether an input port is in a consistent region, or is a control port: no."""
    return False


@function("int32 getConsistentRegionIndex()", "int64 getSequenceId()", "int32 getResetAttempt()")
def region_number() -> int:
    """A number of a consistent region: -1, for there is none."""
    return -1


@function("float64 getDrainTimeout()", "float64 getResetTimeout()")
def region_timeout() -> float:
    """A timeout of a consistent region: -1, for there is none."""
    return -1.0


@function("stateful void resetConsistentRegion()")
def reset_region() -> None:
    """Ask for a reset of the consistent region: nothing happens, for there is none."""


_NO_CONFIGURATION = -1


@function(
    "stateful int32 getApplicationConfiguration(mutable map<rstring, rstring> properties, rstring name)",
    needs_environment=True,
)
def read_configuration(environment: Environment, properties: dict[str, str], name: str) -> int:
    """Read all properties of an application configuration; 0, or -1 if there is none of that name."""
    found = environment.configurations.get(name)
    if found is None:
        return _NO_CONFIGURATION
    properties.clear()
    properties.update({key: reveal_named(key, value) for key, value in found.items()})
    return 0


@function(
    "stateful rstring getApplicationConfigurationProperty(rstring configuration, rstring name, rstring otherwise)",
    needs_environment=True,
)
def configured_or(environment: Environment, configuration: str, name: str, otherwise: str) -> str:
    """A property of an application configuration, or another value if there is none."""
    return reveal_named(name, environment.configurations.get(configuration, {}).get(name, otherwise))


@function(
    "stateful rstring getApplicationConfigurationProperty(rstring configuration, rstring name, mutable int32 error)",
    needs_environment=True,
)
def configured(environment: Environment, configuration: str, name: str, error: int) -> tuple[str, int]:
    """A property of an application configuration; empty, and the error -1, if there is none."""
    found = environment.configurations.get(configuration, {}).get(name)
    return ("", _NO_CONFIGURATION) if found is None else (reveal_named(name, found), 0)


@function("int32 getOutputPortCongestionFactor(uint32 port)")
def congestion(port: int) -> int:
    """How much an output port is held up, from 0 to 100: 0, for nobody is waited for in a batch."""
    return 0


@function(
    "int32 getPEOutputPortConnections(uint32 port, mutable list<tuple<int64 pe, int64 port, uint8 congestionFactor, "
    "uint64 nTuplesFilteredOut>> connections)"
)
def connections(port: int, connections: list[object]) -> int:
    """The connections of an output port of the PE: none, for batches are handed over whole."""
    connections.clear()
    return 0
