"""The hyperparameters of the paper, Tables 8–13, one line for each column of a table.

We always train and test on the frozen 100,000 examples; the paper's own counts of training and test
data are kept in `PAPER_COUNTS` and used by nothing.
"""

from permnet.config import ModelConfig, ModelName, Run, TrainConfig

_Row = tuple[int, ModelName, str, int, int, int, int, float, int, int]

# fmt: off
_ROWS: tuple[_Row, ...] = (
    # table, model, benchmark, training data, test data, embedding, hidden, rate, batch, epochs
    (8, "gru", "PD1-10", 103_515, 11_502, 128, 1024, 0.0003, 4096, 200),
    (8, "gru", "PD10", 90_000, 10_000, 128, 1024, 0.0003, 4096, 200),
    (8, "gru", "PI1-10", 90_292, 10_033, 128, 1024, 0.0003, 4096, 200),
    (8, "gru", "PI10", 90_000, 10_000, 128, 1024, 0.0003, 4096, 200),
    (9, "gru-attention", "PD1-10", 102_960, 11_440, 256, 1024, 0.0003, 1024, 200),
    (9, "gru-attention", "PD10", 90_000, 10_000, 128, 1024, 0.0003, 512, 200),
    (9, "gru-attention", "PD20", 90_000, 10_000, 256, 1024, 0.0003, 512, 200),
    (9, "gru-attention", "PI1-10", 39_329, 4_370, 256, 1024, 0.0003, 1024, 800),
    (9, "gru-attention", "PI10", 180_000, 20_000, 256, 1024, 0.0003, 1024, 200),
    (10, "copynet", "PD1-10", 100_000, 200_017, 64, 512, 0.0001, 512, 200),
    (10, "copynet", "PD10", 100_000, 200_000, 64, 512, 0.0001, 512, 200),
    (10, "copynet", "PD20", 100_000, 200_000, 64, 512, 0.0001, 512, 200),
    (10, "copynet", "PI1-10", 100_000, 209_600, 64, 512, 0.0001, 512, 200),
    (10, "copynet", "PI10", 100_000, 200_000, 128, 512, 0.0001, 2048, 100),
    (10, "copynet", "PI20", 100_000, 200_000, 128, 512, 0.0001, 2048, 200),
    # The transformer's 4 layers and 12 heads are the defaults of ModelConfig.
    (11, "transformer", "PD1-10", 152_640, 16_960, 256, 1024, 0.001, 256, 500),
    (11, "transformer", "PD10", 90_000, 10_000, 256, 1024, 0.001, 256, 500),
    (11, "transformer", "PI1-10", 90_292, 10_033, 256, 1024, 0.001, 256, 500),
    (11, "transformer", "PI10", 90_000, 10_000, 256, 1024, 0.001, 256, 500),
    (12, "permnetd", "PD1-10", 100_000, 100_000, 64, 32, 0.001, 16384, 1000),
    (12, "permnetd", "PD10", 100_000, 100_000, 64, 32, 0.001, 16384, 1000),
    (12, "permnetd", "PD20", 100_000, 100_000, 64, 32, 0.001, 16384, 1000),
    (12, "permneti", "PI1-10", 100_000, 100_000, 128, 256, 0.0003, 4096, 100),
    (12, "permneti", "PI10", 100_000, 100_000, 128, 32, 0.003, 8192, 100),
    (12, "permneti", "PI20", 100_000, 100_000, 128, 128, 0.0003, 4096, 100),
    (13, "permnetd", "PD40", 100_000, 100_000, 128, 64, 0.0003, 4096, 1000),
    (13, "permnetd", "PD100", 100_000, 100_000, 256, 128, 0.0001, 2048, 2000),
    (13, "permneti", "PI40", 100_000, 100_000, 128, 256, 0.0003, 1024, 100),
    (13, "permneti", "PI100", 100_000, 100_000, 128, 512, 0.00005, 512, 100),
    (13, "permneti", "PI_DICT", 100_000, 100_000, 128, 64, 0.001, 16384, 100),
)
# fmt: on

PRESETS: dict[str, Run] = {
    f"{model}/{benchmark}": Run(
        benchmark,
        ModelConfig(name=model, embedding=embedding, hidden=hidden),
        TrainConfig(rate=rate, batch=batch, epochs=epochs),
    )
    for _, model, benchmark, _, _, embedding, hidden, rate, batch, epochs in _ROWS
}
"""`permneti/PI10` → the paper's settings for PermNetI on PI10."""

PAPER_COUNTS: dict[str, tuple[int, int]] = {f"{row[1]}/{row[2]}": (row[3], row[4]) for row in _ROWS}
