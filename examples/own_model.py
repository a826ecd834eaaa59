"""A model that is not ours, trained and scored on PI10: own_model.py [EXAMPLES [EPOCHS]]."""

import sys

import torch
from torch import Tensor, nn

import permnet

torch.manual_seed(0)
count, epochs = (int(argument) for argument in [*sys.argv[1:], "100000", "30"][:2])
train, test = (permnet.benchmark("PI10").split(name, count) for name in ("train", "test"))
inputs, targets = (torch.tensor(a, dtype=torch.long) for a in vars(train.examples).values())
token, place = nn.Embedding(len(train.vocab), 64), nn.Embedding(inputs.shape[1], 64)
body = nn.Transformer(64, 2, 2, 2, 256, dropout=0.0, batch_first=True)
head = nn.Linear(64, len(train.vocab))
optimiser = torch.optim.Adam(nn.ModuleList([token, place, body, head]).parameters(), 1e-3)


def logits(asked: Tensor, said: Tensor) -> Tensor:
    x, y = (token(t) + place.weight[: t.shape[1]] for t in (asked, said))
    return head(body(x, y, tgt_mask=body.generate_square_subsequent_mask(said.shape[1])))


for _ in range(epochs):
    for rows in torch.randperm(count).split(256):
        said = torch.cat([inputs[rows, :1], targets[rows, :-1]], dim=1)  # from <sos> on
        loss = nn.functional.cross_entropy(logits(inputs[rows], said).mT, targets[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

answers = []
with torch.no_grad():
    for asked in torch.tensor(test.examples.inputs, dtype=torch.long).split(1000):
        said = asked[:, :1]
        while said.shape[1] <= targets.shape[1]:
            said = torch.cat([said, logits(asked, said)[:, -1:].argmax(-1)], dim=1)
        answers += map(test.vocab.decode, said.tolist())
print(permnet.score("PI10", answers, limit=count))
