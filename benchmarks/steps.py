"""A fixed number of bare training steps of one encoding: what training is measured against.

Run it at the top of a working copy. It trains on fixed random tokens by the library's model, and
knows nothing of tasks, schedules, logs or files.
"""

import sys
from pathlib import Path

import torch
import yaml
from torch.nn.functional import cross_entropy

sys.path.insert(0, "src")
from posinfo.decoder import settings
from posinfo.decoder.model import draw, logits

STEPS = 100

torch.set_num_threads(1)
told = yaml.safe_load(Path("config/config.yaml").read_text(encoding="utf-8"))["decoder"]
sizes, seeds = settings.sizes(told), told["seeds"]
weights = draw("rotary", sizes, seeds, told["deviation"])
weights = {name: value.requires_grad_() for name, value in weights.items()}
optimizer = torch.optim.AdamW(weights.values(), fused=True)
texts = sum(told["training"]["texts"])
ids = torch.randint(0, sizes.vocabulary, (len(seeds), texts, told["trained_length"] + 1))
for _ in range(STEPS):
    scores = logits("rotary", sizes, weights, ids[..., :-1])
    optimizer.zero_grad(set_to_none=True)
    cross_entropy(scores.flatten(0, 2), ids[..., 1:].flatten()).backward()
    optimizer.step()
