"""Draws m_dp.png: M_dp of the shipped PI20 model on the first validation example.

python docs/images/m_dp.py
"""

from pathlib import Path

import matplotlib as mpl
import torch
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from permnet import benchmark, load
from permnet.batch import resident

mpl.use("Agg")


def main() -> None:
    checkpoint = load("PI20")
    split = benchmark("PI20").split("validation", limit=1)
    batch = resident(split.examples.inputs, split.examples.targets, checkpoint.vocab)
    inputs = batch.inputs.long()
    with torch.no_grad():
        m_dp = checkpoint.model.encode(inputs).resolver.m_dp[0]
    names = checkpoint.vocab.decode(inputs[0])
    sep = names.index("<sep>")
    queries = range(sep + 1, len(names) - 1)
    figure, axes = plt.subplots(figsize=(7.2, 9.2), layout="constrained")
    image = axes.imshow(m_dp[:sep, queries.start : queries.stop], cmap="viridis", aspect="auto")
    for column, target in enumerate(batch.targets[0, : len(queries)].tolist()):
        row = inputs[0].tolist().index(target)
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, ec="red", lw=1.2))
    axes.set_xticks(range(len(queries)), [names[i] for i in queries], fontsize=8)
    axes.set_yticks(range(sep), names[:sep], fontsize=8)
    axes.set_xlabel("query")
    axes.set_ylabel("data and their keys")
    figure.colorbar(image, shrink=0.4, label="M_dp")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=80)


if __name__ == "__main__":
    main()
