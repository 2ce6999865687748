"""Where the operator of a stream runs, in the words of the COLA paper: beside others, apart, on some hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from penstock.api.application import App


class StreamPlacement:
    """The methods of a stream that demand something of the PE or the host of the operator that makes it."""

    __slots__ = ()

    app: App

    def colocate(self, tag: str) -> Self:
        """Run in one PE with all operators of the same tag.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> for _ in range(2):
            ...     _ = app.beacon("int32 x", iterations=1).colocate("a")
            >>> app.program().application.constraints[0].operators
            ('Beacon', 'Beacon_2')
        """
        return self._grouped("pe_colocation", tag)

    def exlocate(self, tag: str) -> Self:
        """Run in a PE apart from all operators of the same tag.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> for _ in range(2):
            ...     _ = app.beacon("int32 x", iterations=1).exlocate("a")
            >>> app.program().application.constraints[0].operators
            ('Beacon', 'Beacon_2')
        """
        return self._grouped("pe_exlocation", tag)

    def colocate_host(self, tag: str) -> Self:
        """Run on one host with all operators of the same tag.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> for _ in range(2):
            ...     _ = app.beacon("int32 x", iterations=1).colocate_host("a")
            >>> app.program().application.constraints[0].operators
            ('Beacon', 'Beacon_2')
        """
        return self._grouped("host_colocation", tag)

    def exlocate_host(self, tag: str) -> Self:
        """Run on a host apart from all operators of the same tag.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> for _ in range(2):
            ...     _ = app.beacon("int32 x", iterations=1).exlocate_host("a")
            >>> app.program().application.constraints[0].operators
            ('Beacon', 'Beacon_2')
        """
        return self._grouped("host_exlocation", tag)

    def isolate(self) -> Self:
        """Run in a PE of its own.

        Example:
            >>> from penstock import App
            >>> numbers = App().beacon("int32 x", iterations=1).isolate()
            >>> numbers.app.program().application.constraints[0].kind.value
            'pe_dedication'
        """
        self.app.constrain("pe_dedication", self._stream)
        return self

    def isolate_host(self) -> Self:
        """Run on a host of its own.

        Example:
            >>> from penstock import App
            >>> numbers = App().beacon("int32 x", iterations=1).isolate_host()
            >>> numbers.app.program().application.constraints[0].kind.value
            'host_dedication'
        """
        self.app.constrain("host_dedication", self._stream)
        return self

    def on_hosts(self, *hosts: str) -> Self:
        """Run on one of these hosts, given by name or tag.

        Example:
            >>> from penstock import App
            >>> numbers = App().beacon("int32 x", iterations=1).on_hosts("gpu")
            >>> numbers.app.program().application.constraints[0].kind.value
            'resource_match'
        """
        self.app.constrain("resource_match", self._stream, hosts=hosts)
        return self

    def _grouped(self, kind: str, tag: str) -> Self:
        self.app.constrain_group(kind, tag, self._stream)
        return self

    @property
    def _stream(self) -> Any:
        return self
