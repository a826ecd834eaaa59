"""Table 7: PermNetI without one of its parts."""

from permnet.experiments.tables import Cell, Seen, Table, cell, small


def _without(
    part: str,
    length: int,
    ta: float | None = None,
    wea: float | None = None,
    seen: Seen | None = None,
) -> Cell:
    seeds = 3 if length == 10 else 1
    return cell(f"permneti/PI{length}", ta, wea, without=part, seeds=seeds, seen=seen)


def _grown(length: int, part: str | None = None, seeds: int = 1) -> Cell:
    """A shorter length ends when it is solved; with more tokens that takes longer."""
    grow = tuple(shorter for shorter in (10, 20) if shorter < length)
    return small(
        f"permneti/PI{length}",
        label="grown",
        seeds=seeds,
        note=f"lengths growing {', '.join(map(str, (*grow, length)))}",
        without=part,
        grow=grow,
        grow_epochs=3 if length == 20 else 10,
    )


ABLATIONS = ("fixed-vocab", "m_d+m_k+m_p", "m_d", "attn", "m_pl", "mlogsoft")

TABLE = Table(
    "table7",
    "PermNetI without one of its parts",
    cells=(
        cell("permneti/PI10", 1.0, 1.0, seeds=3),
        cell("permneti/PI20", 0.9999, 0.9999, seeds=3),
        cell("permneti/PI40", 1.0, 1.0),
        _without("fixed-vocab", 10, 0.4894, 0.0),
        _without("m_d+m_k+m_p", 10, 0.3334, 0.0),
        _without("m_d", 10, 0.9999, 0.9995),
        _without("attn", 10, 1.0, 1.0),
        _without("m_pl", 10, 1.0, 1.0),
        _without("mlogsoft", 10, 0.9726, 0.7462),
        _without("attn", 20, 1.0, 1.0),
        _without("mlogsoft", 20, 0.1340, 0.0),
        _without("attn", 40, 0.9999, 0.9996, seen=Seen(40, 0.9999)),
    ),
    more=tuple(_without(part, 20) for part in ("fixed-vocab", "m_d+m_k+m_p", "m_d", "m_pl")),
    ours=(
        small("permneti/PI10"),
        *(small("permneti/PI10", without=part) for part in ABLATIONS),
        small("permneti/PI10", without="m_pl", label="long", epochs=24, seeds=1),
        _grown(20, seeds=3),
        *(_grown(20, part, seeds=3) for part in ABLATIONS if part != "m_pl"),
        _grown(40),
        *(_grown(40, part) for part in ABLATIONS if part != "m_pl"),
    ),
    notes=("Without `m_pl` the model works at one input length only.",),
    pace={"attn": "slower", "mlogsoft": "slower", "m_d": "faster"},
)
