"""Table 6: PermNetD without one of its parts."""

from permnet.experiments.tables import Cell, Table, cell, quick


def _without(part: str, length: int, ta: float, wea: float) -> Cell:
    return cell(f"permnetd/PD{length}", ta, wea, without=part)


ABLATIONS = ("fixed-vocab", "m_e", "m_ind", "v_arr")

TABLE = Table(
    "table6",
    "PermNetD without one of its parts",
    cells=(
        cell("permnetd/PD10", 1.0, 1.0, seeds=3),
        cell("permnetd/PD20", 0.9995, 0.9962, seeds=3),
        cell("permnetd/PD40", 0.9999, 0.9998),
        _without("fixed-vocab", 10, 1.0, 1.0),
        _without("m_e", 10, 0.9998, 0.9993),
        _without("m_ind", 10, 0.9999, 0.9990),
        _without("v_arr", 10, 0.9989, 0.9929),
        _without("fixed-vocab", 20, 0.9992, 0.9867),
        _without("m_e", 20, 1.0, 1.0),
        _without("m_ind", 20, 0.7151, 0.0),
        _without("v_arr", 20, 0.9999, 0.9989),
        _without("fixed-vocab", 40, 0.8655, 0.0017),
    ),
    ours=(
        quick("permnetd/PD20", rate=0.003),
        *(quick("permnetd/PD20", rate=0.003, without=part) for part in ABLATIONS),
        quick("permnetd/PD40", rate=0.003, seeds=1),
        *(quick("permnetd/PD40", rate=0.003, seeds=1, without=part) for part in ABLATIONS),
    ),
    notes=("Without `m_e` or `v_arr` the model works at one input length only.",),
)
