"""The wider language: what is drawn compiles to assembly that leads back, in all its forms."""

import hashlib
from collections import Counter
from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st

from permnet.decompiling.verify import verify
from permnet.tasks.switch.compiler import assemble
from permnet.tasks.switch.ctokens import layout, lex
from permnet.tasks.switch.draw import Draw
from permnet.tasks.switch.reading import as_read
from permnet.tasks.switch.skeleton import skeleton
from permnet.tasks.switch.terse import in_full, terse
from permnet.tasks.switch.tree import tokens
from permnet.tasks.switch.wide import sample

FROZEN = "5d5ffeedfd4e046f988a66a5cf38ce978505c87d4068f5a6c193033ee3ff2e75"


def drawn(first: int, count: int) -> list[list[str]]:
    return [tokens(sample(Draw(f"test {i}"))) for i in range(first, first + count)]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**9))
def test_what_is_drawn_compiles_and_comes_back(first: int) -> None:
    programs = drawn(first, 10)
    made = assemble([layout(c) for c in programs])
    pairs = []
    for c, lines in zip(programs, made, strict=True):
        assert lines is not None, layout(c)
        assembly = list(chain.from_iterable(lines))
        assert lex(layout(c)) == c
        assert in_full(terse(c, as_read(assembly)[0]))[0] == c
        pairs.append((c, assembly))
    assert all(verify(pairs))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9))
def test_a_function_has_one_switch_with_labels_that_fit(number: int) -> None:
    (c,) = drawn(number, 1)
    assert c.count("switch") == 1
    blocks = skeleton(c)
    assert blocks is not None
    labels = [label for block in blocks for label in block if label != "default"]
    assert 2 <= len(labels) == len({*labels}) <= 20
    assert blocks.count(["default"]) <= 1


def test_it_has_what_people_write_and_the_canonical_language_lacks() -> None:
    found: Counter[str] = Counter()
    for c in drawn(0, 1000):
        text = layout(c)
        found["unsigned"] += "unsigned" in c
        found["no locals"] += "v0" not in c
        found["a local without a value"] += "v0;" in text or "v1;" in text
        found["a parameter changed"] += any(
            f"p{i} {op}" in text for i in "012" for op in ("=", "+=")
        )
        found["nothing but break"] += ":\n        break;" in text
        found["a last block that ends"] += not any(
            end in text for end in ("break;\n    }\n", ";\n    }\n    }")
        )
        found["three arguments"] += "g3" in c or "h3" in c
        found["a call asked"] += "switch (g" in text
        found["an `if` before"] += "if" in c[: c.index("switch")]
        found["a result that is a sum"] += any(
            "return" in line and "+" in line for line in text.split("\n")
        )
    assert min(found.values()) >= 10, found


def test_the_same_name_is_the_same_function() -> None:
    said = "\n".join(layout(c) for c in drawn(0, 200))
    assert hashlib.sha256(said.encode()).hexdigest() == FROZEN
