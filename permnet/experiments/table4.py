"""Table 4: PermNetI on indirect indexing, lengths 40 and 100."""

from permnet.experiments.tables import Table, cell, own

TABLE = Table(
    "table4",
    "Indirect indexing: lengths 40 and 100",
    cells=(
        cell("permneti/PI40", 1.0, 1.0),
        cell("permneti/PI100", 0.9996, 0.9826),
    ),
    ours=(
        own(
            "grow",
            "permneti/PI100",
            model={"hidden": 128},
            rate=0.001,
            schedule="cosine",
            warmup=200,
            grow=(10, 25, 50),
            grow_epochs=20,
            epochs=30,
            evaluate_every=2,
            note="H 128, lengths growing 10, 25, 50, 100, cosine",
        ),
    ),
)
