"""Table 4: PermNetI on indirect indexing, lengths 40 and 100."""

from permnet.experiments.tables import Table, cell, quick

TABLE = Table(
    "table4",
    "Indirect indexing: lengths 40 and 100",
    cells=(
        cell("permneti/PI40", 1.0, 1.0),
        cell("permneti/PI100", 0.9996, 0.9826),
    ),
    ours=(
        quick("permneti/PI40", rate=0.001, seeds=1, model={"hidden": 128}, epochs=15, note="H 128"),
        quick("permneti/PI40", label="long", rate=0.001, model={"hidden": 128}, note="H 128"),
        quick(
            "permneti/PI40",
            label="bounded",
            rate=0.001,
            model={"hidden": 128},
            z_loss=1e-4,
            note="H 128, z-loss 0.0001",
        ),
        quick(
            "permneti/PI100",
            label="grow",
            rate=0.001,
            seeds=1,
            model={"hidden": 128},
            grow=(10, 25, 50),
            grow_epochs=20,
            epochs=15,
            note="H 128, lengths growing 10, 25, 50, 100",
        ),
        quick(
            "permneti/PI100",
            label="bounded",
            rate=0.001,
            seeds=1,
            model={"hidden": 128},
            grow=(10, 25, 50),
            grow_epochs=20,
            epochs=15,
            z_loss=1e-4,
            note="H 128, lengths growing 10, 25, 50, 100, z-loss 0.0001",
        ),
        quick(
            "permneti/PI100",
            label="direct",
            rate=0.001,
            seeds=1,
            model={"hidden": 128},
            z_loss=1e-4,
            note="H 128, z-loss 0.0001",
        ),
        quick(
            "permneti/PI100",
            label="calm",
            rate=0.0005,
            seeds=1,
            model={"hidden": 128},
            grow=(10, 40),
            grow_epochs=10,
            epochs=20,
            z_loss=1e-4,
            note="H 128, lengths growing 10, 40, 100, z-loss 0.0001",
        ),
    ),
)
