"""Table 2: PermNetD on direct indexing, lengths 40 and 100."""

from permnet.experiments.tables import Table, cell, own

TABLE = Table(
    "table2",
    "Direct indexing: lengths 40 and 100",
    cells=(
        cell("permnetd/PD40", 0.9999, 0.9998),
        cell("permnetd/PD100", 0.9999, 0.9989),
    ),
    ours=(
        own(
            "short",
            "permnetd/PD100",
            model={"hidden": 64},
            rate=0.0005,
            schedule="cosine",
            epochs=500,
            note="H 64, rate 0.0005, 500 epochs, cosine",
        ),
    ),
)
