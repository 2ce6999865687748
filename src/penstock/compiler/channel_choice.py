"""How many channels parallel regions get: a number, or `auto`, the smallest beyond which nothing is gained."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.codegen.plan import channels
from penstock.compiler.fusion_names import AUTO
from penstock.compiler.loop_choice import channels_of_open_loop
from penstock.compiler.resuming import resumed_groups, resumed_plan, resumed_tables
from penstock.compiler.short_profile import find_profile
from penstock.parallel.key_groups import KEY_GROUPS
from penstock.parallel.regions import parallel_regions

if TYPE_CHECKING:
    from penstock.compiler.job import Draft
    from penstock.optimizer import Setting


def find_regions(draft: Draft) -> Draft:
    """Find the parallel regions.

    They are those of the graph with its loop: what goes round has a merge and a split, wherever it leads.
    """
    return replace(draft, parallel=parallel_regions(draft.application, draft.options.extensions))


def choose_channels(draft: Draft) -> Draft:
    """Decide how many channels parallel regions get, unless that is decided with the fusion."""
    return give_channels(draft, _choose_number(draft))


def give_channels(draft: Draft, number: int | None) -> Draft:
    """Give every parallel region its channels; None leaves it to `@parallel` annotations."""
    options = draft.options
    regions = channels.choose_channels(
        draft.application,
        number,
        loops_are_open=draft.loop_is_open,
        found=draft.parallel,
        groups=options.key_groups or resumed_groups(options.checkpoint) or KEY_GROUPS,
    )
    resumed = resumed_tables(options.checkpoint, regions)
    tables = resumed if options.tables is None else options.tables and {**resumed, **options.tables}
    return replace(draft, channels=number, regions=channels.give_tables(regions, tables))


def _choose_number(draft: Draft) -> int | None:
    options = draft.options
    if draft.loop_is_open and channels_of_open_loop(options) is not None:
        return channels_of_open_loop(options)
    if isinstance(options.channels, int):
        return options.channels
    return _choose_by_profile(draft) if options.channels == AUTO and not options.chooses_both else None


def _choose_by_profile(draft: Draft) -> int | None:
    from penstock.optimizer.machine import machine_setting

    options = draft.options
    resumed = resumed_plan(draft.application, options.checkpoint)
    if resumed is not None:
        return resumed[1]
    profile = find_profile(draft, channels=1)
    if profile is None:
        options.tell("one channel, as there is no profile yet")
        return 1
    setting = machine_setting(draft.application, profile, 1, options.cores, turns_per_batch=options.batch)
    best = fewest_channels(setting, options.cores)
    options.tell(f"{best} of up to {options.cores} channels, by the last profile")
    return best


def fewest_channels(setting: Setting, most: int) -> int:
    """The smallest number of channels for which the throughput model predicts no further gain.

    Args:
        setting: The application, its profile and the machine.
        most: The most channels to try: more than the cores of the cluster never gain.
    """
    from penstock.model.channels import fewest_with_gain
    from penstock.optimizer.prediction import predict, throughput_model

    everything = (tuple(o.id for o in setting.application.operators),)
    model = throughput_model(setting)
    best, _ = fewest_with_gain(lambda n: predict(model, replace(setting, channels=n), everything).scale, most)
    return best
