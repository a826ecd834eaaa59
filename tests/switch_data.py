"""Small switch data for the tests of training, made of shipped examples: no gcc is needed."""

from pathlib import Path

from permnet.tasks.switch.dataset import Labels, build, file_name, save, shipped

COUNT = 32


def make(folder: Path, name: str = "switch-6", labels: Labels = "shuffled") -> Path:
    """Three splits of the shortest shipped examples."""
    whole = shipped(name, labels)
    pairs = sorted(whole.pairs(), key=lambda pair: len(pair[0]))
    folder.mkdir(parents=True, exist_ok=True)
    for i, split in enumerate(("train", "validation", "test")):
        part = build(name, split, labels, whole.compiler, pairs[i : 3 * COUNT : 3])
        save(part, folder / file_name(name, labels, split))
    return folder
