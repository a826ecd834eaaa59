"""The wider language: what is drawn compiles to assembly that leads back, in all its forms."""

import hashlib
import re
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

FROZEN = "dba557f5157ea37d1af40897c04f0f9822ee27c9731be1fae2fbf85aced28513"


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
        before, _, after = text.partition("switch")
        found["unsigned"] += "unsigned" in c
        found["unsigned char"] += "unsigned char" in text
        found["short"] += "short" in c
        found["no locals"] += "v0" not in c
        found["a local without a value"] += "v0;" in text or "v1;" in text
        found["a parameter changed"] += bool(re.search(r"\bp\d \S?=", text))
        found["a second array"] += "a1[" in text
        found["an element changed"] += bool(re.search(r"\ba0\[.*\] \S=", text))
        found["an index that is a sum"] += bool(re.search(r"\ba0\[p\d [-+] \d\]", text))
        found["nothing but break"] += ":\n        break;" in text
        found["break in an `if`"] += "            break;" in text
        found["a last block that ends"] += not any(
            end in text for end in ("break;\n    }\n", ";\n    }\n    }")
        )
        found["four arguments"] += "g6" in c or "h4" in c
        found["a call in a call"] += bool(re.search(r"\b[gh]\d\((.*, )?g[04]\(", text))
        found["a call asked"] += after.startswith(" (g")
        found["an `if` before"] += "if" in before
        found["a call before"] += bool(re.search(r"\n    [gh]\d\(", before))
        found["`return` of nothing before"] += "return;" in before
        found["else if"] += bool(re.search(r"else \{\n *if", text))
        found["three conditions"] += bool(re.search(r"if \(.*(&&|\|\|).*(&&|\|\|)", text))
        found["truth as a value"] += bool(re.search(r"(= .*|return .*|\(.*) (==|!=|<=) .*;", text))
        found["one or the other"] += "?" in c
        found["many labels together"] += bool(re.search(r"(case \S+:\s+){7}", text))
        found["a number above 1,000"] += bool(re.search(r"[-=+,(] \d{4,};", text))
        found["a result that is a sum"] += bool(re.search(r"return .* \+", text))
    assert min(found.values()) >= 8, found


def test_the_same_name_is_the_same_function() -> None:
    said = "\n".join(layout(c) for c in drawn(0, 200))
    assert hashlib.sha256(said.encode()).hexdigest() == FROZEN
