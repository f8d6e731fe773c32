"""The forms in which people write a rotation, and how their parameters tell them apart.

Knows names alone and imports no torch: the command line and the config's checks read it too.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from posinfo.errors import InputError


@dataclass(frozen=True)
class Form:
    """One form of a rotation.

    Parameters
    ----------
    name
        What ``--signature`` calls it.
    text
        How it is written.
    about
        Shapes, and where the form comes from.
    roles
        What the form gives, in its order, with the parameter names by which each is recognised.
    optional
        Roles that a function need not take.
    axes
        The axes that it takes if nothing else is said, one of :data:`AXES`.
    """

    name: str
    text: str
    about: str
    roles: Mapping[str, frozenset[str]]
    optional: frozenset[str]
    axes: str


#: Axes of queries and keys: batch, heads, positions t, dimensions d. ``td`` takes any number of
#: axes before the last two; the others take exactly those that they name.
AXES = ("td", "btd", "bhtd", "bthd")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_X = _words("x q k t v xq xk query key tensor vec vector vectors hidden states inp inputs "
               "input qk embeddings hidden_states")  # fmt: skip
_Q = _words("q xq query queries query_states x_q wq")
_K = _words("k xk key keys key_states x_k wk")

FORMS = {
    form.name: form
    for form in (
        Form(
            "positions",
            "f(x, positions[, base])",
            "x [..., T, d], positions [T], or [B, T] if it is right with these alone; called once "
            "for queries and once for keys",
            {
                "x": _X,
                "positions": _words(
                    "positions position pos position_ids pos_ids p m idx index indices offsets "
                    "timesteps seq_pos input_pos token_positions"
                ),
                "base": _words("base theta rope_theta rope_base b"),
            },
            frozenset({"base"}),
            "td",
        ),
        Form(
            "angles",
            "f(x, angles)",
            "x [..., T, d], angles [T, d/2] in radians; lesson A",
            {
                "x": _X,
                "angles": _words("angles angle phases phase radians thetas freqs m_theta mtheta"),
            },
            frozenset(),
            "td",
        ),
        Form(
            "freqs_cis",
            "f(xq, xk, freqs_cis)",
            "xq and xk [B, T, h, d], freqs_cis complex [T, d/2]; lesson B and Llama",
            {
                "q": _Q,
                "k": _K,
                "freqs_cis": _words("freqs_cis freq_cis freqs_complex cis rotations freqs_cis_t"),
            },
            frozenset(),
            "bthd",
        ),
        Form(
            "cos_sin",
            "f(q, k, cos, sin[, position_ids, unsqueeze_dim])",
            "q and k [B, h, T, d], cos and sin [B, T, d]; the transformers library",
            {
                "q": _Q,
                "k": _K,
                "cos": _words("cos cosine cosines cos_t"),
                "sin": _words("sin sine sines sin_t"),
                "position_ids": frozenset({"position_ids"}),
                "unsqueeze_dim": frozenset({"unsqueeze_dim"}),
            },
            frozenset({"position_ids", "unsqueeze_dim"}),
            "bhtd",
        ),
    )
}


@dataclass(frozen=True)
class Signature:
    """A function's form, and its parameters' names by role, those that it takes.

    ``required`` are the optional roles for which it has no default.
    """

    form: Form
    parameters: Mapping[str, str]
    required: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] | None = None

    def default(self, role: str) -> Any:
        """The default of a role's parameter, or None."""
        return (self.defaults or {}).get(role)


def listed() -> str:
    """The forms in one line, for an error."""
    return ", ".join(f"{form.text} ({form.name})" for form in FORMS.values())


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """A function's parameters, those of a module's ``forward``; None if Python cannot tell."""
    call = getattr(function, "forward", None) if hasattr(function, "named_parameters") else None
    try:
        return list(inspect.signature(call or function).parameters.values())
    except (TypeError, ValueError):
        return None


def recognise(function: Callable[..., Any], where: str, named: str | None = None) -> Signature:
    """The form of a function: by the names of its parameters, or as it is named.

    Parameters
    ----------
    function
        Anything that can be called.
    where
        What an error begins with.
    named
        The name of a form; its roles then are the parameters in their order, whatever they are
        called.

    Raises
    ------
    InputError
        If no form fits, or the named one cannot.
    """
    found = _parameters(function)
    if named is not None:
        return _as_named(FORMS[named], found, where)
    if found is None:
        raise InputError(
            where, f"its parameters cannot be read: name its form with --signature: {listed()}"
        )
    for form in reversed(FORMS.values()):
        signature = _by_names(form, found)
        if signature:
            return signature
    shown = inspect.Signature([p.replace(annotation=p.empty) for p in found])
    raise InputError(
        where,
        f"f{shown} is none of the forms that can be checked: {listed()}; name the one that it "
        "is with --signature",
    )


def _by_names(form: Form, found: list[inspect.Parameter]) -> Signature | None:
    """The signature, if each needed role has a parameter and each needed parameter a role."""
    roles: dict[str, inspect.Parameter] = {}
    for parameter in found:
        free = (
            role
            for role, names in form.roles.items()
            if role not in roles and parameter.name.lower().strip("_") in names
        )
        role = next(free, None)
        if role:
            roles[role] = parameter
        elif _needed(parameter):
            return None
    if set(form.roles) - set(roles) - form.optional:
        return None
    return _signature(form, roles)


def _as_named(form: Form, found: list[inspect.Parameter] | None, where: str) -> Signature:
    needed = [role for role in form.roles if role not in form.optional]
    if found is None or any(p.kind is p.VAR_POSITIONAL for p in found):
        return Signature(form, dict.fromkeys(needed, ""))
    positional = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(positional) < len(needed):
        raise InputError(where, f"takes {len(positional)} parameters: {form.text} gives it more")
    roles = dict(zip(needed, positional, strict=False))
    rest = positional[len(needed) :] + [p for p in found if p.kind is p.KEYWORD_ONLY]
    for parameter in rest:
        role = next((r for r in form.optional if parameter.name.lower() in form.roles[r]), None)
        if role and role not in roles:
            roles[role] = parameter
        elif _needed(parameter):
            raise InputError(
                where, f"needs a parameter {parameter.name!r}, which {form.text} does not give"
            )
    return _signature(form, roles)


def _needed(parameter: inspect.Parameter) -> bool:
    variable = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and not variable


def _signature(form: Form, roles: Mapping[str, inspect.Parameter]) -> Signature:
    # In the function's own order, for what is positional only goes in by place.
    return Signature(
        form,
        {
            role: "" if parameter.kind is parameter.POSITIONAL_ONLY else parameter.name
            for role, parameter in roles.items()
        },
        frozenset(role for role, p in roles.items() if role in form.optional and _needed(p)),
        {role: p.default for role, p in roles.items() if p.default is not p.empty},
    )
