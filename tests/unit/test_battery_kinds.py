"""The batteries of the other kinds: right implementations pass however they are written, and the
faults' stand-ins break the library. What rejects each fault is asked in ``test_faults.py``."""

import importlib
import math

import pytest
import torch
from torch.nn import functional

from posinfo import scaling
from posinfo.battery.base import examine
from posinfo.battery.bias import T5, Alibi
from posinfo.battery.cache import Cache
from posinfo.battery.catalogue import BATTERIES, checks_of
from posinfo.battery.extension import Extension
from posinfo.battery.tables import Learned, Sinusoidal
from posinfo.faults import FAULTS as ALL_FAULTS
from posinfo.faults import RIGHT as REGISTERED
from posinfo.faults import cache, disturbed_kinds

FAULTS = [fault for fault in ALL_FAULTS if fault.kind != "rotary"]
LIBRARY = [
    (kind, make) for kind, makes in REGISTERED.items() if kind != "rotary"
    for make in makes.values()
]  # fmt: skip


def examined(kind, make):
    [battery] = BATTERIES[kind]
    return examine(battery, make)


# --- right implementations, written otherwise -----------------------------------------------------


def by_one_hot(tokens, table, ids, positions):
    if positions.min() < 0 or positions.max() >= len(table):
        raise ValueError("no such position")
    rows = functional.one_hot(positions, len(table)).float() @ table
    return tokens[ids] + rows


def by_module(tokens, table, ids, positions):
    # As GPT-2's module holds it; the table stays the caller's, so that its gradient can be read.
    module = torch.nn.Embedding(*table.shape)
    rows = torch.func.functional_call(module, {"weight": table}, (positions.expand(ids.shape),))
    return rows + torch.nn.Embedding.from_pretrained(tokens)(ids)


def by_index(tokens, table, ids, positions):
    assert positions.min() >= 0
    rows = torch.index_select(table, 0, positions.flatten()).unflatten(0, positions.shape)
    return torch.stack([tokens.index_select(0, row) for row in ids]) + rows


def annotated(positions, width, base):
    """By exponentials of logarithms, into the places of a tensor of zeros."""
    steps = torch.exp(torch.arange(0, width, 2).float() * (-math.log(base) / width))
    code = torch.zeros(len(positions), width)
    code[:, 0::2] = torch.sin(positions[:, None] * steps)
    code[:, 1::2] = torch.cos(positions[:, None] * steps)
    return code


def numpy_like(positions, width, base):
    """In float64, every place by itself: place i has the exponent 2 (i // 2) / d."""
    places = torch.arange(width)
    angles = positions[:, None].double() / base ** (2 * (places // 2) / width).double()
    return torch.where(places % 2 == 0, angles.sin(), angles.cos()).float()


def by_complex_numbers(positions, width, base):
    angles = torch.outer(positions.float(), base ** (-torch.arange(0, width, 2) / width))
    turned = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flip(-1).flatten(-2)


def whole_table(positions, width, base):
    return numpy_like(torch.arange(int(positions.max()) + 1), width, base)[positions]


def bloom_slopes(heads):
    """As BLOOM's code has it: powers of a float32 base."""
    lower = 2 ** math.floor(math.log2(heads))
    base = torch.tensor(2 ** (-(2 ** -(math.log2(lower) - 3))))
    slopes = torch.pow(base, torch.arange(1, 1 + lower))
    if lower != heads:
        extra = torch.tensor(2 ** (-(2 ** -(math.log2(2 * lower) - 3))))
        odd = torch.arange(1, 1 + 2 * min(lower, heads - lower), 2)
        slopes = torch.cat([slopes, torch.pow(extra, odd)])
    return slopes


def bloom(positions, heads):
    biases = bloom_slopes(heads)[:, None, None] * positions[None, None, :]
    return biases.expand(heads, len(positions), len(positions))


def causal(positions, heads):
    distance = (positions[:, None] - positions).clamp(min=0)
    return -bloom_slopes(heads)[:, None, None] * distance


def mpt(positions, heads):
    """As MPT's code has it: every second slope of the next power of two first."""
    upper = 2 ** math.ceil(math.log2(heads))
    slopes = 1 / 2 ** (torch.arange(1, upper + 1) * (8 / upper))
    if upper != heads:
        slopes = torch.cat([slopes[1::2], slopes[::2]])[:heads]
    return -slopes[:, None, None] * (positions[:, None] - positions).abs()


def t5_like_transformers(table, positions, bidirectional):
    """As transformers has it, with its clamp by a minimum and a permutation of axes."""
    relative, buckets, first = positions[None, :] - positions[:, None], len(table), 0
    if bidirectional:
        buckets //= 2
        first = (relative > 0).to(torch.long) * buckets
        relative = torch.abs(relative)
    else:
        relative = -torch.min(relative, torch.zeros_like(relative))
    exact = buckets // 2
    large = exact + (
        torch.log(relative.float() / exact) / math.log(128 / exact) * (buckets - exact)
    ).to(torch.long)
    large = torch.min(large, torch.full_like(large, buckets - 1))
    chosen = first + torch.where(relative < exact, relative, large)
    return functional.embedding(chosen, table).permute(2, 0, 1)


def t5_by_search(table, positions, bidirectional):
    """By the first distance of each bucket."""
    half = len(table) // 2 if bidirectional else len(table)
    exact = half // 2
    starts = torch.tensor([float(n) for n in range(exact)] + [
        exact * (128 / exact) ** (n / (half - exact)) for n in range(half - exact)
    ])  # fmt: skip
    offsets = positions[None, :] - positions[:, None]
    distance = offsets.abs() if bidirectional else (-offsets).clamp(min=0)
    chosen = torch.searchsorted(starts, distance.float(), right=True) - 1
    chosen = chosen + (half * (offsets > 0) if bidirectional else 0)
    return torch.stack([table[:, head][chosen] for head in range(table.shape[1])])


def rope(dim, base, dtype=torch.float32):
    return torch.exp(torch.arange(0, dim, 2, dtype=dtype) * (-math.log(base) / dim))


def interpolated_in_float64(dim, base, trained, factor):
    return (rope(dim, base, torch.float64) / factor).float()


def ntk(dim, base, trained, factor):
    return rope(dim, base * factor ** (dim / (dim - 2)))


def ntk_by_ratio(dim, base, trained, factor):
    """Without a base: each pair slower by a power of the factor."""
    pairs = torch.arange(dim // 2)
    return rope(dim, base) * factor ** (-pairs / (dim // 2 - 1))


def dynamic(dim, base, trained, factor, length=None):
    current = factor * trained if length is None else length
    if current <= trained:
        return rope(dim, base)
    return ntk(dim, base, trained, factor * current / trained - (factor - 1))


def yarn(dim, base, trained, factor, truncate=True):
    """As the code of its authors: masks of both parts, an inverse of the positional frequency."""

    def find(turns):
        return dim * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = find(32), find(1)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    powers = base ** (torch.arange(0, dim, 2).float() / dim)
    ramp = ((torch.arange(dim // 2).float() - low) / (high - low)).clamp(0, 1)
    return 1 / (factor * powers) * ramp + 1 / powers * (1 - ramp)


def by_wavelength(few, many):
    """As Meta's code: a loop over frequencies, by wavelength."""

    def frequencies(dim, base, trained, factor):
        scaled = []
        for theta in rope(dim, base, torch.float64).tolist():
            wavelength = 2 * math.pi / theta
            if wavelength < trained / many:
                scaled.append(theta)
            elif wavelength > trained / few:
                scaled.append(theta / factor)
            else:
                smooth = (trained / wavelength - few) / (many - few)
                scaled.append((1 - smooth) * theta / factor + smooth * theta)
        return torch.tensor(scaled, dtype=torch.float32)

    return frequencies


def by_masks(dim, base, trained, factor):
    """As transformers has Llama 3's: in float32, with torch.where."""
    theta = 1 / base ** (torch.arange(0, dim, 2).float() / dim)
    wavelength = 2 * math.pi / theta
    scaled = torch.where(wavelength > trained, theta / factor, theta)
    smooth = (trained / wavelength - 1) / (4 - 1)
    middle = (1 - smooth) * scaled / factor + smooth * scaled
    between = ~(wavelength < trained / 4) * ~(wavelength > trained)
    return torch.where(between, middle, scaled)


def longrope(dim, base, trained, factor, short_factor, long_factor, length=None):
    current = factor * trained if length is None else length
    divisors = torch.tensor(long_factor if current > trained else short_factor)
    return 1 / (divisors * base ** (torch.arange(0, dim, 2) / dim))


def temperature(factor, trained):
    return 1.0 if factor <= 1 else 0.1 * math.log(factor) + 1


def longrope_temperature(factor, trained):
    return torch.sqrt(1 + torch.tensor(factor).log() / math.log(trained))


class HalfSplit(cache.Decoder):
    """The other layout of pairs."""

    def __call__(self, q, k, v, frequencies, steps):
        q, k = (x.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2) for x in (q, k))
        return super().__call__(q, k, v, frequencies, steps)


class Shifted(cache.Decoder):
    """All positions from 100 on: scores depend on offsets alone."""

    def places(self, start, size):
        return super().places(start, size) + 100

    def key_places(self, start, size):
        return super().key_places(start, size) + 100


class FromTheEnd(cache.Decoder):
    """Keys at negative positions, the newest token at 0."""

    def places(self, start, size):
        return super().places(start, size) - start - size + 1

    def key_places(self, start, size):
        return super().key_places(start, size) - start - size + 1


RIGHT = [
    *(Learned(f.__name__, f) for f in (by_one_hot, by_module, by_index)),
    *(Sinusoidal(f.__name__, f) for f in (annotated, numpy_like, by_complex_numbers, whole_table)),
    Alibi("BLOOM", bloom, sees_ahead=False, by_key=True),
    Alibi("causal", causal, sees_ahead=False),
    Alibi("MPT", mpt),
    T5("transformers", t5_like_transformers),
    T5("search", t5_by_search),
    Extension("float64", "pi", interpolated_in_float64),
    Extension("base", "ntk", ntk),
    Extension("ratio", "ntk", ntk_by_ratio),
    Extension("transformers", "dynamic_ntk", dynamic),
    Extension("another base", "abf", lambda d, b, t, s, new_base: rope(d, new_base)),
    Extension("its authors", "yarn", yarn, temperature),
    Extension("gpt-oss", "yarn", lambda *given: yarn(*given, truncate=False), temperature,
              {"truncate": False}),
    Extension("loop", "yarn_paper", by_wavelength(1, 32), temperature),
    Extension("Meta", "llama3", by_wavelength(1, 4)),
    Extension("transformers", "llama3", by_masks),
    Extension("wavelengths", "longrope", longrope, longrope_temperature),
    Cache("as it is", cache.Decoder()),
    Cache("half-split", HalfSplit()),
    Cache("shifted", Shifted()),
    Cache("from the end", FromTheEnd()),
]  # fmt: skip


def kind_of(subject):
    return {"T5": "t5"}.get(type(subject).__name__, type(subject).__name__.lower())


@pytest.mark.parametrize("subject", RIGHT, ids=lambda one: f"{kind_of(one)}: {one.name}")
def test_right_implementations_written_otherwise_pass(subject):
    findings = examined(kind_of(subject), lambda: subject)
    wrong = {f.check: (f.words, f.measured, f.bound) for f in findings if f.rejects}
    assert wrong == {}


def test_bounds_are_not_wide():
    """The library uses at least a twentieth of what each measuring check allows, somewhere."""
    used = {}
    for kind, make in LIBRARY:
        for finding in examined(kind, make):
            if finding.used is not None and finding.bound:
                key = (kind, finding.check)
                used[key] = max(used.get(key, 0.0), finding.used)
    # What slopes and products of powers of two compute exactly uses nothing.
    exact = {("alibi", name) for name in checks_of("alibi")}
    narrow = {key for key, share in used.items() if share < 0.05} - exact
    assert narrow <= {("extension", "attention factor")}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)
def test_a_fault_tells_what_is_wrong_in_a_few_lines(fault):
    assert fault.wrong.endswith(".")
    assert fault.seen.endswith(".")
    assert len(fault.wrong) <= 200
    assert len(fault.hint) < 160


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)
def test_a_finding_says_where(fault):
    assert all(finding.words for finding in examined(fault.kind, fault.make) if finding.rejects)


STANDING = [fault for fault in FAULTS if fault.replaces]


@pytest.mark.parametrize("fault", STANDING, ids=lambda one: one.name)
def test_a_stand_in_makes_the_library_wrong(fault, monkeypatch):
    for name, stand_in in fault.replaces.items():
        module, _, attribute = name.rpartition(".")
        owner = importlib.import_module(module)
        assert callable(getattr(owner, attribute))
        monkeypatch.setattr(owner, attribute, stand_in)
    subjects = [make for kind, make in LIBRARY if kind == fault.kind]
    if fault.kind == "extension":
        method = fault.make().method
        subjects = [make for make in subjects if make().method == method]
    assert any(f.rejects for make in subjects for f in examined(fault.kind, make))


def test_misbehaviour_becomes_words():
    def rejected(subject):
        findings = examined(kind_of(subject), lambda: subject)
        assert all(f.words for f in findings if f.rejects)
        return {f.check: f.words for f in findings if f.rejects}

    assert "returns None" in rejected(Learned("", lambda *_: None))["row of the position"]
    assert "raises SystemExit: 3" in rejected(Sinusoidal("", lambda *_: exit(3)))["layout"]
    assert "NaN" in rejected(Alibi("", lambda p, h: torch.full((h, len(p), len(p)), math.nan)))[
        "sign"]  # fmt: skip
    assert "returns shape [3]" in rejected(T5("", lambda *_: torch.zeros(3)))["table"]
    wrong = Extension("", "pi", scaling.pi, lambda *_: "much")
    assert "is no number" in rejected(wrong)["attention factor"]
    assert "raises TypeError" in rejected(Cache("", lambda: None))["first token"]


# --- how small a fault is detected ----------------------------------------------------------------

OTHER_KINDS = [kind for kind in BATTERIES if kind != "rotary"]


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_each_check_has_a_smallest_fault_or_none_has_a_size(kind):
    sized, smallest = disturbed_kinds.of_kind(kind)
    groups = [*sized, *smallest, *disturbed_kinds.WITHOUT_SIZE[kind]]
    assert sorted(groups) == sorted(checks_of(kind))
    [battery] = BATTERIES[kind]
    measuring = {check.name for check in battery.checks if check.unit}
    assert set(sized) <= measuring


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_undisturbed_subjects_pass_and_the_smallest_change_does_not(kind):
    sized, smallest = disturbed_kinds.of_kind(kind)
    [battery] = BATTERIES[kind]
    for check, disturbance in sized.items():
        [finding] = examine(battery, lambda made=disturbance: made.subject(0.0), only=[check])
        # In float64: what is left is the reference's own rounding.
        assert finding.outcome == "holds"
        assert finding.used < 0.01 or check.startswith("published"), (check, finding)
    for check, (_, make) in smallest.items():
        [finding] = examine(battery, make, only=[check])
        assert finding.rejects, check
