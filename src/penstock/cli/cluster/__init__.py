"""`penstock cluster`: its commands."""

from penstock.cli.cluster.commands import command as command
