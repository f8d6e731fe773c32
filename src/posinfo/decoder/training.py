"""Training of the decoders: all seeds of one encoding at once, until the known optimum is near."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from posinfo.decoder.model import AS_TRAINED, Reading, Sizes, Weights, logits
from posinfo.decoder.tasks import TASKS, Batch, Language, batch


@dataclass(frozen=True)
class Course:
    """How a decoder is trained.

    Parameters
    ----------
    steps
        Steps at most.
    warmup
        Steps over which the learning rate rises; after them it falls along a half cosine to a
        tenth.
    learning_rate
        Of AdamW, at its highest.
    texts
        Texts of either task in a step, for each seed: repeat, and recall, which needs fewer.
    enough
        Training ends early when each seed's loss on each task, a running mean, is below this, in
        nats; 0 means never.
    """

    steps: int
    warmup: int
    learning_rate: float
    texts: tuple[int, int]
    enough: float = 0.0


#: What a running mean keeps of its past at each step.
KEPT = 0.95


def losses(
    encoding: str, sizes: Sizes, weights: Weights, given: Batch, reading: Reading = AS_TRAINED
) -> tuple[Tensor, Tensor]:
    """Loss of each token, and which of them count.

    Parameters
    ----------
    given
        Texts [S, N, T].

    Returns
    -------
    tuple of Tensor
        Shape [S, N, T - 1] each: at place t the loss, in nats, of the token t + 1.
    """
    scores = logits(encoding, sizes, weights, given.ids[..., :-1], reading)
    wanted = given.ids[..., 1:]
    nats = cross_entropy(scores.flatten(0, 2), wanted.flatten(), reduction="none")
    return nats.view(wanted.shape), given.counts[..., 1:]


def by_task(nats: Tensor, counts: Tensor, texts: tuple[int, int]) -> Tensor:
    """Mean loss over the tokens that count, [S, tasks] of [S, N, T]: N are the texts of either."""
    parts = zip(nats.split(texts, 1), counts.split(texts, 1), strict=True)
    return torch.stack(
        [(part * where).sum((1, 2)) / where.sum((1, 2)) for part, where in parts], -1
    )


def train(
    encoding: str,
    sizes: Sizes,
    language: Language,
    weights: Weights,
    course: Course,
    seeds: list[int],
    *,
    length: int,
    reading: Reading = AS_TRAINED,
    say: Callable[[int, Tensor], None] = lambda step, loss: None,
) -> tuple[dict[str, Tensor], list[Mapping[str, float]]]:
    """Train decoders side by side on texts of ``length`` tokens and one more.

    Each seed has its own texts. Nothing of one seed enters another: the losses are added, and
    gradients are clipped one seed at a time.

    Returns
    -------
    tuple
        The weights, and what the loss was: a mapping a step and seed.
    """
    texts = [torch.Generator().manual_seed(seed) for seed in seeds]
    weights = {name: value.clone().requires_grad_() for name, value in weights.items()}
    optimizer = torch.optim.AdamW(
        weights.values(), lr=course.learning_rate, betas=(0.9, 0.98), weight_decay=0.01,
        fused=True,
    )  # fmt: skip
    mean = torch.full((len(seeds), len(TASKS)), math.inf)
    history: list[Mapping[str, float]] = []
    for step in range(1, course.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = course.learning_rate * _rate(step, course)
        drawn = [batch(language, course.texts, length + 1, generator) for generator in texts]
        given = Batch(*map(torch.stack, zip(*drawn, strict=True)))
        loss = by_task(*losses(encoding, sizes, weights, given, reading), course.texts)
        optimizer.zero_grad(set_to_none=True)
        loss.sum().backward()
        _clip(weights)
        optimizer.step()
        now = loss.detach()
        mean = now if step == 1 else KEPT * mean + (1 - KEPT) * now
        say(step, mean)
        history += [
            {"step": step, "seed": seed, **dict(zip(TASKS, row.tolist(), strict=True))}
            for seed, row in zip(seeds, now, strict=True)
        ]
        if mean.max() < course.enough:
            break
    return {name: value.detach() for name, value in weights.items()}, history


def _rate(step: int, course: Course) -> float:
    """Share of the highest learning rate at a step, counted from 1."""
    fallen = 0.55 + 0.45 * math.cos(math.pi * step / course.steps)
    return min(1.0, step / max(course.warmup, 1)) * fallen


def _clip(weights: Weights) -> None:
    """Shorten each seed's gradient to a norm of at most 1."""
    gradients = [weight.grad for weight in weights.values() if weight.grad is not None]
    norm = torch.stack([g.flatten(1).square().sum(1) for g in gradients]).sum(0).sqrt()
    share = (1.0 / norm).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(share.view(-1, *[1] * (gradient.dim() - 1)))
