"""Table 2: PermNetD on direct indexing, lengths 40 and 100."""

from permnet.experiments.tables import Table, cell, quick

TABLE = Table(
    "table2",
    "Direct indexing: lengths 40 and 100",
    cells=(
        cell("permnetd/PD40", 0.9999, 0.9998),
        cell("permnetd/PD100", 0.9999, 0.9989),
    ),
    ours=(
        quick("permnetd/PD40", rate=0.003, seeds=1),
        quick("permnetd/PD40", label="fresh", rate=0.003, seeds=1, fresh=True, note="new examples"),
        quick(
            "permnetd/PD100",
            label="grow",
            rate=0.002,
            seeds=1,
            grow=(10, 25, 50),
            grow_epochs=20,
            note="lengths growing 10, 25, 50, 100",
        ),
    ),
)
