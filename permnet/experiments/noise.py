"""Distractors around and between what matters: PD10-noise and PI10-noise, not in the paper."""

from permnet.experiments.tables import Table, cell, small

TABLE = Table(
    "noise",
    "Tokens that do not matter (not in the paper)",
    cells=(),
    more=(
        cell("permnetd/PD10", benchmark="PD10-noise", seeds=3, note="the settings of PD10"),
        cell("permneti/PI10", benchmark="PI10-noise", seeds=3, note="the settings of PI10"),
    ),
    ours=(
        small("permneti/PI10", benchmark="PI10-noise", epochs=12),
        small(
            "permneti/PI10",
            label="grow",
            benchmark="PI10-noise",
            grow=(4,),
            grow_epochs=6,
            note="lengths growing 4, 10",
        ),
    ),
)
