"""Table 5: queries that may repeat."""

from permnet.experiments.tables import Table, cell, own, quick

TABLE = Table(
    "table5",
    "Indirect indexing with repeated queries: DICT",
    cells=(
        cell("permneti/PI_DICT", 0.9994, 0.9972, seeds=3),
        cell(
            "copynet/PI10",
            0.8333,
            0.0,
            benchmark="PI_DICT",
            note="the paper gives no settings for it: those of PI10",
        ),
    ),
    ours=(
        own(
            "long",
            "permneti/PI_DICT",
            seeds=3,
            epochs=300,
            schedule="cosine",
            note="300 epochs, cosine",
        ),
        own(
            "steps",
            "permneti/PI_DICT",
            seeds=3,
            batch=2048,
            schedule="cosine",
            warmup=200,
            note="batch 2,048, so eight times the steps; warm-up, cosine",
        ),
        quick("permneti/PI_DICT", rate=0.003),
        quick("permneti/PI_DICT", label="steady", rate=0.001),
        quick(
            "permneti/PI_DICT",
            label="exact",
            rate=0.003,
            precision="fp32",
            note="products in full single precision",
        ),
        quick("permneti/PI_DICT", label="bounded", rate=0.003, z_loss=1e-4, note="z-loss 0.0001"),
    ),
    notes=("CopyNet's 83.33 % is exactly 10 of 12.",),
)
