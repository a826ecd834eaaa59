"""From `results/` to what people read: RESULTS.md, and one HTML page with curves and figures.

`results.py` reads, `rows.py` puts results beside the paper's figures, `content.py` says it in
words, `markdown.py`, `page.py` and `readme.py` write it down. None of them needs torch;
`measure.py`, which looks into trained models, does, and leaves what it found in
`results/figures.json`.
"""
