"""The fusions that need no profile: `none`, `all` and `manual`, as far as the constraints of the program allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.ir.graph import Application
    from penstock.optimizer import Groups


def fuse_without_costs(application: Application, option: str, channels: int | None) -> Groups:
    """The operators of each PE by one of `fusion_names.WITHOUT_COSTS`.

    Raises:
        Infeasible: The program's constraints contradict each other.
    """
    if option == "all" and not application.constraints:
        return (tuple(o.id for o in application.operators),)
    from penstock.model import Transfer, equal_hosts
    from penstock.optimizer import Setting, fused_by, unfused, without_profile

    if not application.constraints:
        return unfused(application)
    blank = without_profile(application)
    setting = Setting(
        application=application,
        profile=blank,
        transfer=Transfer(mips=blank.mips),
        hosts=equal_hosts(1),
        channels=channels,
    )
    algorithm: Any = option
    return fused_by(algorithm, setting)
