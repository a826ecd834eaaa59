"""Table 3: all models on indirect indexing, lengths 1-10, 10 and 20."""

from dataclasses import replace

from permnet.experiments.presets import PRESETS
from permnet.experiments.tables import (
    FUSED,
    HALF,
    Seen,
    Table,
    beside,
    cell,
    fair_attention,
    other_rates,
    own,
    quick,
    related,
    small,
)

TABLE = Table(
    "table3",
    "Indirect indexing: lengths 1-10, 10 and 20",
    cells=(
        cell("permneti/PI1-10", 0.9999, 0.9999, seeds=3),
        cell("permneti/PI10", 1.0, 1.0, seeds=3),
        cell("permneti/PI20", 0.9999, 0.9999, seeds=3),
        cell("gru/PI10", 0.1683, 0.0),
        cell("gru-attention/PI10", 0.1635, 0.0),
        cell("copynet/PI10", 0.9999, 0.9997),
        cell("transformer/PI10", 0.3915, 0.0, note="in bf16", **HALF),
        cell("gru/PI1-10", 0.1920, 0.0),
        cell("gru-attention/PI1-10", 0.5683, 0.1798),
        cell("copynet/PI1-10", 0.9990, 0.9932),
        cell(
            "transformer/PI1-10",
            0.9997,
            0.1977,
            note="no single way of decoding gives both of the paper's figures",
            **FUSED,
        ),
        cell("copynet/PI20", 0.1593, 0.0),
    ),
    more=(
        *related("PI10"),
        *fair_attention("PI10", 0.001),
        *related("PI1-10", seen={"pointer-generator": Seen(55, 0.9964)}),
        *fair_attention("PI1-10", 0.001, 0.0003, 0.003),
        *fair_attention("PI20", 0.001, 0.0003, 0.003),
        beside(
            "gru-attention",
            replace(PRESETS["gru-attention/PI10"], benchmark="PI20"),
            "the settings of PI10",
            seen=Seen(15, None),
        ),
    ),
    ours=(
        own(
            "small",
            "permneti/PI1-10",
            seeds=3,
            model={"embedding": 64, "hidden": 32},
            batch=512,
            rate=0.004,
            schedule="cosine",
            warmup=100,
            epochs=12,
            reserved=20,
            unseen=0.5,
            evaluate_every=2,
            evaluate_limit=2000,
            note="H 32, batch 512, rate 0.004, cosine, unseen tokens; minutes on a CPU",
        ),
        quick("permneti/PI20", rate=0.001),
        small("permneti/PI10"),
        small("permneti/PI20", label="narrow", rate=0.002, epochs=4, seeds=1),
        small(
            "permneti/PI20",
            label="equal",
            rate=0.002,
            epochs=4,
            seeds=1,
            model={"equal": True},
            note="keys meet equal tokens only",
        ),
        *other_rates("gru/PI10", 0.5),  # at the paper's rate it wakes after 0.28 of them
        *other_rates("transformer/PI10", 0.25, **FUSED),  # as on PD10
    ),
    notes=(
        "The paper runs no other baseline on PI20, since none but CopyNet solves PI10 there; "
        "those that do here follow it.",
    ),
)
