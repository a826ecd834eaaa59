"""Table 3: all models on indirect indexing, lengths 1-10, 10 and 20."""

from permnet.experiments.tables import (
    Cell,
    Table,
    cell,
    fair_attention,
    other_rates,
    own,
    quick,
    related,
)


def _narrow(label: str, *, equal: bool) -> Cell:
    """PI20 for a CPU, in minutes: with keys that meet equal tokens only, and its twin without."""
    return own(
        label,
        "permneti/PI20",
        model={"embedding": 64, "hidden": 32, "equal": equal},
        batch=256,
        rate=0.002,
        schedule="cosine",
        warmup=100,
        epochs=4,
        z_loss=1e-4,
        evaluate_every=1,
        evaluate_limit=2000,
        note=f"H 32, {'keys meet equal tokens only, ' if equal else ''}batch 256, rate 0.002, "
        "cosine, 4 epochs, z-loss 0.0001; minutes on a CPU",
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
        cell("transformer/PI10", 0.3915, 0.0),
        cell("gru/PI1-10", 0.1920, 0.0),
        cell("gru-attention/PI1-10", 0.5683, 0.1798),
        cell("copynet/PI1-10", 0.9990, 0.9932),
        cell(
            "transformer/PI1-10",
            0.9997,
            0.1977,
            note="no single way of decoding gives both of the paper's figures",
        ),
        cell("copynet/PI20", 0.1593, 0.0),
    ),
    more=(
        *related("PI10"),
        *fair_attention("PI10", 0.001, 0.0003, 0.003),
        *related("PI1-10"),
        *fair_attention("PI1-10", 0.001),
    ),
    ours=(
        own(
            "small",
            "permneti/PI1-10",
            model={"embedding": 64, "hidden": 32},
            batch=512,
            rate=0.004,
            schedule="cosine",
            warmup=100,
            epochs=12,
            reserved=20,
            unseen=0.25,
            evaluate_every=2,
            evaluate_limit=2000,
            note="H 32, batch 512, rate 0.004, cosine, unseen tokens; minutes on a CPU",
        ),
        quick("permneti/PI20", rate=0.001),
        _narrow("narrow", equal=False),
        _narrow("equal", equal=True),
        *other_rates("gru/PI10", "gru-attention/PI10", "copynet/PI10", "transformer/PI10"),
    ),
    notes=(
        "The paper runs no other baseline on PI20, since none but CopyNet solves PI10; nor do we.",
    ),
)
