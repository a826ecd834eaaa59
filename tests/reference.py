"""Slow, obvious twins of what the package computes fast.

The operators are loops over positions. `permnetd` and `permneti` retell Eqs 3–28 of the paper for
one example without batch and without padding, token by token, sum by sum. They read a model's
parameters and share no other code with the package, so that agreement means something.
"""

import math

import torch
from torch import Tensor

E = math.e


# ---- operators ----------------------------------------------------------------------------------


def softmax(x: list[Tensor]) -> list[Tensor]:
    top = max((v.item() for v in x), default=0.0)
    powers = [torch.exp(v - top) for v in x]
    total = sum(powers)
    return [p / total for p in powers]


def mlogsoftmax_between(x: Tensor, log: bool = True, among: list[int] | None = None) -> Tensor:
    """Eq. 19 along each row of a square matrix, then 0 on the diagonal.

    With `among`, the tokens, a row is over the other positions of its own token.
    """
    rows = []
    for i in range(len(x)):
        row = [torch.zeros_like(x[i, j]) for j in range(len(x))]
        taking = [j for j in range(len(x)) if among is None or (j != i and among[j] == among[i])]
        for j, p in zip(taking, softmax([x[i, j] for j in taking]), strict=True):
            if j != i:
                row[j] = torch.log(1 + (E - 1) * p) if log else p
        rows.append(torch.stack(row))
    return torch.stack(rows)


def antidiagonal_sum(v_arr: Tensor, v_ind: Tensor) -> Tensor:
    """Builds M_prob of Eq. 9 and adds up its antidiagonals, those past the end dropped."""
    m_prob = v_arr[:, None] * v_ind[None, :]
    sums = [torch.zeros_like(v_arr[0]) for _ in v_arr]
    for i in range(len(v_arr)):
        for j in range(len(v_ind)):
            if i + j < len(v_arr):
                sums[i + j] = sums[i + j] + m_prob[i, j]
    return torch.stack(sums)


def sum_by_token(weights: Tensor, ids: list[int], vocab_size: int) -> Tensor:
    sums = [torch.zeros_like(weights[0]) for _ in range(vocab_size)]
    for weight, token in zip(weights, ids, strict=True):
        sums[token] = sums[token] + weight
    return torch.stack(sums)


# ---- the recurrent parts ------------------------------------------------------------------------


def linear(p: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    return p[f"{name}.weight"] @ x + p[f"{name}.bias"]


def gru_cell(p: dict[str, Tensor], name: str, x: Tensor, h: Tensor) -> Tensor:
    size = len(h)
    of_x = p[f"{name}.w_ih"] @ x + p[f"{name}.b_ih"]
    of_h = p[f"{name}.w_hh"] @ h + p[f"{name}.b_hh"]
    r = torch.sigmoid(of_x[:size] + of_h[:size])
    z = torch.sigmoid(of_x[size : 2 * size] + of_h[size : 2 * size])
    n = torch.tanh(of_x[2 * size :] + r * of_h[2 * size :])
    return (1 - z) * n + z * h


def encoder(p: dict[str, Tensor], ids: list[int]) -> tuple[Tensor, Tensor]:
    """Eqs 3 and 14: the states of both directions at every token, and the last of each."""
    x = [p["embedding.weight"][i] for i in ids]
    size = p["encoder.forwards.w_hh"].shape[1]
    h = torch.zeros(size, dtype=x[0].dtype)
    right = []
    for token in x:
        h = gru_cell(p, "encoder.forwards", token, h)
        right.append(h)
    h = torch.zeros(size, dtype=x[0].dtype)
    left = []
    for token in reversed(x):
        h = gru_cell(p, "encoder.backwards", token, h)
        left.append(h)
    left.reverse()
    m_e = torch.stack([torch.cat(pair) for pair in zip(right, left, strict=True)])
    return m_e, torch.cat([right[-1], left[0]])


def no_pad(logits: Tensor) -> Tensor:
    return torch.cat([torch.full_like(logits[:1], -math.inf), logits[1:]])


# ---- PermNetD, Eqs 3–13 -------------------------------------------------------------------------


def permnetd(
    p: dict[str, Tensor], ids: list[int], previous: list[int], without: str | None = None
) -> Tensor:
    """Logits (T, V) of one example."""
    vocab_size = len(p["embedding.weight"])
    m_e, v_last = encoder(p, ids)  # (3)
    if without != "v_arr":
        v_arr = torch.stack([linear(p, "resolver.array", row)[0] for row in m_e])  # (4)
    if without != "m_ind":
        m_ind = torch.stack([p["resolver.emb_ind.weight"][i] for i in ids])  # (5)
    v_hidd, out = v_last, []
    for token in previous:
        v_hidd = gru_cell(p, "decoder", p["embedding.weight"][token], v_hidd)  # (6)
        selected = linear(p, "resolver.select", v_hidd)
        if without == "m_ind":
            v_ind = selected
        else:
            v_attn = selected if without == "m_e" else m_e @ selected  # (7)
            v_ind = sum(m_ind[i] * v_attn[i] for i in range(len(ids)))  # (8)
        if without == "v_arr":
            positions = linear(p, "resolver.array", v_ind)
        else:
            positions = antidiagonal_sum(v_arr, v_ind)  # (9), (10)
        logits = sum_by_token(positions, ids, vocab_size)  # (10)
        if without != "fixed-vocab":
            logits = logits + linear(p, "vocabulary", v_hidd)  # (11), (12)
        out.append(no_pad(logits))
    return torch.stack(out)


# ---- PermNetI, Eqs 14–28 ------------------------------------------------------------------------


def permneti(
    p: dict[str, Tensor],
    ids: list[int],
    previous: list[int],
    without: str | None = None,
    equal: bool = False,
) -> Tensor:
    """Logits (T, V) of one example."""
    vocab_size, length = len(p["embedding.weight"]), len(ids)
    m_e, v_last = encoder(p, ids)  # (14)
    if without == "m_d+m_k+m_p":
        m_d = m_k = m_p = m_e
    else:
        m_label = [torch.stack(softmax(list(linear(p, "resolver.label", r)))) for r in m_e]  # (15)
        m_d, m_k, m_p = (
            torch.stack([row * label[c] for row, label in zip(m_e, m_label, strict=True)])
            for c in range(3)
        )  # (16), (17), (18)
    if without == "m_d":
        m_d = m_e
    log = without != "mlogsoft"
    m_dk = mlogsoftmax_between(m_d @ m_k.T, log)  # (20)
    m_kp = mlogsoftmax_between(m_k @ m_p.T, log, ids if equal else None)  # (21)
    m_dp = m_dk @ m_kp  # (22)
    v_hidd, v_dw, out = v_last, torch.zeros_like(m_e[:, 0]), []
    for token in previous:
        x = p["embedding.weight"][token]
        if without != "attn":
            zero = torch.zeros_like(v_dw[0])
            selects = token >= 4  # special tokens never select
            v_selected = [v_dw[i] if selects and ids[i] == token else zero for i in range(length)]
            m_attnw = torch.stack([m_dp[i] * v_selected[i] for i in range(length)])  # (27)
            weights = softmax([m_attnw[:, j].sum() for j in range(length)])
            v_attn = sum(w * row for w, row in zip(weights, m_e, strict=True))  # (28)
            x = torch.cat([x, v_attn])
        v_hidd = gru_cell(p, "decoder", x, v_hidd)  # (23)
        selected = linear(p, "resolver.select", v_hidd)
        if without == "m_pl":
            v_pw = selected
        else:
            v_pw = torch.stack([linear(p, "resolver.query", row) @ selected for row in m_p])  # (25)
        v_dw = m_dp @ v_pw  # (26)
        logits = sum_by_token(v_dw, ids, vocab_size)
        if without != "fixed-vocab":
            logits = logits + linear(p, "vocabulary", v_hidd)  # (24)
        out.append(no_pad(logits))
    return torch.stack(out)
