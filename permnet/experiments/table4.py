"""Table 4: PermNetI on indirect indexing, lengths 40 and 100."""

from typing import Any

from permnet.experiments.tables import Cell, Table, cell, quick


def ours(
    length: int,
    label: str,
    *,
    rate: float = 0.001,
    hidden: int = 128,
    seeds: int = 1,
    grow: tuple[int, ...] = (),
    z_loss: float = 1e-4,
    **changes: Any,
) -> Cell:
    """PermNetI in small batches, narrower than the paper's."""
    note = f"H {hidden}"
    if grow:
        note += f", lengths growing {', '.join(map(str, (*grow, length)))}"
    if z_loss:
        note += f", z-loss {z_loss:g}"
    return quick(
        f"permneti/PI{length}",
        rate,
        label=label,
        seeds=seeds,
        note=note,
        model={"hidden": hidden},
        grow=grow,
        z_loss=z_loss,
        **changes,
    )


TABLE = Table(
    "table4",
    "Indirect indexing: lengths 40 and 100",
    cells=(
        cell("permneti/PI40", 1.0, 1.0),
        cell("permneti/PI100", 0.9996, 0.9826),
    ),
    ours=(
        ours(40, "quick", epochs=15, z_loss=0.0),
        ours(40, "long", seeds=3, z_loss=0.0),
        ours(40, "bounded", seeds=3),
        ours(100, "grow", grow=(10, 25, 50), grow_epochs=20, epochs=15, z_loss=0.0),
        ours(100, "bounded", grow=(10, 25, 50), grow_epochs=20, epochs=15),
        ours(100, "direct"),
        ours(100, "patient", epochs=80, evaluate_every=8),
        ours(100, "wide", hidden=256, epochs=40, evaluate_every=4),
        ours(100, "calm", rate=0.0005, grow=(10, 40), grow_epochs=10, epochs=20),
        ours(100, "leap", grow=(40,), grow_epochs=12, epochs=20),
    ),
)
