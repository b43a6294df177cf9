"""Why a variant or a version is, or isn't, to be had here; by the same decision, asked about that alone.

Nothing is worked out by other rules: the wish is laid over the request, the decision is made, and what is
told are the reasons of the candidates that were meant. Each way out is a decision with one thing changed.
"""

from __future__ import annotations

import re

from torchinstall.errors import EXIT_BLOCKED, EXIT_OK, EXIT_UNDETERMINED, RequirementError, UsageError
from torchinstall.model.explanation import Explanation
from torchinstall.model.plan import Alternative
from torchinstall.model.request import Wish
from torchinstall.model.sentences import reason
from torchinstall.model.value import Value
from torchinstall.model.variant import CPU, backend
from torchinstall.model.version import numbers
from torchinstall.resolve import backends, report
from torchinstall.resolve.candidates import named_variant
from torchinstall.resolve.conflict import conflict
from torchinstall.resolve.decision import Decision, Question, decide
from torchinstall.resolve.facts import completed
from torchinstall.resolve.joint import TORCH
from torchinstall.resolve.ways_out import after_block, one_card
from torchinstall.resolve.wishes import admits, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchinstall.catalog.rows import Build
    from torchinstall.model.plan import Reason
    from torchinstall.resolve.candidates import Candidate
    from torchinstall.resolve.joint import Solution

_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)(?:\+([a-z0-9.]+))?", re.IGNORECASE)
_PINNED = re.compile(r"(torch)\s*==\s*(\d+\.\d+)(\+[a-z0-9.]+)?", re.IGNORECASE)
_OTHER_WISHES = frozenset({"if-version", "if-variant", "if-companion"})
_MOST_RULES = 4
_MOST_WAYS = 4
_KNOWN_CARDS = {
    "cuda": ("RTX 4090", "RTX 3090", "GTX 1080", "Tesla K80"),
    "rocm": ("gfx1100", "gfx90a", "gfx906"),
    "xpu": ("arc-b580", "arc-a770"),
    "npu": ("910B3",),
}
"""Examples of how a card is named, newer first; the first that the build serves is shown."""


class Asked(Value):
    """What was asked about: a variant, wishes about versions, or both."""

    text: str
    variant: str | None = None
    wishes: tuple[Wish, ...] = ()


def asked(text: str, family: Sequence[str]) -> Asked:
    """Read what is to be explained: ``cu130``, ``2.15.0+cu132``, ``torch==2.6``, ``torchvision==0.20.1``.

    Two numbers mean the whole minor release. Raises ``RequirementError`` for a text that is none of these.
    """
    plain = text.strip()
    if backend(plain.lower()):
        return Asked(text=plain, variant=plain.lower())
    written = plain
    if match := _PINNED.fullmatch(plain):
        written = match[2] + (match[3] or "")
    if match := _VERSION.fullmatch(written):
        version, variant = match[1], match[2].lower() if match[2] else None
        specifier = f"=={version}" if version.count(".") > 1 else f"=={version}.*"
        wish = Wish(name=TORCH, specifier=specifier, text=plain, origin="the question")
        return Asked(text=plain, variant=variant, wishes=(wish,))
    found = parse([plain], family, origin="the question")
    if not found.wishes:
        raise RequirementError(
            f"{plain!r} can't be explained",
            why="torchinstall decides about torch and what is chosen together with it",
            todo=["ask about a variant (cu130), a version (2.15.0, torch==2.6) or both (2.15.0+cu126)"],
        )
    variant = next((wish.variant for wish in found.wishes if wish.name == TORCH), None)
    return Asked(text=plain, variant=variant, wishes=found.wishes)


def explain(question: Question, what: Asked) -> Explanation:
    """Return why the build that is meant is chosen, possible, or impossible here. Never raises."""
    question = question.replace(machine=completed(question.machine, question.catalog))
    plain = decide(question)
    wished = _with(question, what)
    decision = decide(wished)
    chosen = None
    if plain.solution is not None:
        chosen = (plain.solution.build.torch, plain.solution.build.variant)
    base = Explanation(
        what=what.text,
        possible=decision.solution is not None,
        verdict=reason("explain-no", what=what.text),
        chosen=chosen,
        date=question.catalog.date,
    )
    if decision.solution is not None:
        idle = _idle(decision, plain)
        if idle is not None and chosen != (decision.solution.build.torch, decision.solution.build.variant):
            return _unused(base, decision, wished, idle)
        return _possible(base, decision, plain, wished)
    return _impossible(base, decision, plain, wished, what)


def _possible(base: Explanation, decision: Decision, plain: Decision, wished: Question) -> Explanation:
    solution = decision.solution
    if solution is None:
        return base
    build, catalog = solution.build, wished.catalog
    facts = {"what": base.what, "torch": build.torch, "variant": build.variant}
    if base.chosen == (build.torch, build.variant):
        verdict = reason("explain-chosen", **facts)
        why = report.why(decision, solution, wished.machine, catalog)
    else:
        verdict = reason("explain-possible", **facts)
        outranked = () if plain.solution is None else (_lost_by(build, plain, plain.solution),)
        if plain.undetermined and plain.stopped is not None:
            outranked = (plain.stopped,)
        elif decision.selection.named and decision.selection.backend != plain.selection.backend:
            outranked = (_other_backend(build.variant, plain),)
        why = (*outranked, *report.why(decision, solution, wished.machine, catalog))
    return base.replace(
        verdict=verdict,
        torch=build.torch,
        variant=build.variant,
        why=_distinct(why),
        needs=backends.needs(decision.selection, solution, wished.machine, catalog),
        notes=_notes(decision, build.torch, catalog.release(build.torch)),
        exit_code=EXIT_OK,
    )


def _lost_by(build: Build, plain: Decision, solution: Solution) -> Reason:
    """Return why a build isn't chosen unasked: a rule that it fails then, or one that ranks it lower."""
    number = next((n for n, other in enumerate(plain.candidates.builds) if other == build), None)
    failed = plain.candidates[number].why_not if number is not None else None
    return failed or report.outranked(build, solution, plain)


def _idle(decision: Decision, plain: Decision) -> Reason | None:
    """Return why nothing here would use the build that is meant; ``None`` where a card does, or nobody can know.

    A plan takes a variant that is named, whatever is here: an image may be made for another machine. *Here* it
    would have nothing to run on, and that is what was asked.
    """
    selection = decision.selection
    if decision.solution is None or selection.backend == CPU or selection.cards or plain.undetermined:
        return None
    if plain.selection.cards:
        return _other_backend(decision.solution.build.variant, plain)
    if plain.selection.blocked is not None:
        return plain.selection.blocked
    return reason("no-accelerator", variant=decision.solution.build.variant)


def _unused(base: Explanation, decision: Decision, wished: Question, idle: Reason) -> Explanation:
    solution = decision.solution
    if solution is None:
        return base
    build = solution.build
    return base.replace(
        possible=False,
        torch=build.torch,
        variant=build.variant,
        why=(idle,),
        ways=_with_card(build.variant, wished),
        exit_code=EXIT_BLOCKED,
    )


def _with_card(variant: str, wished: Question) -> tuple[Alternative, ...]:
    """Return the way by which another machine is meant: a well-known card that the build serves."""
    from torchinstall.resolve.declare import Declaration, declared

    for card in _KNOWN_CARDS.get(backend(variant) or "", ()):
        try:
            machine = declared(wished.machine, Declaration(gpus=(card,)), wished.catalog)
        except UsageError:
            continue  # the data in use doesn't know it
        other = decide(wished.replace(machine=machine))
        if other.solution is not None and other.selection.cards:
            build = other.solution.build
            return (
                Alternative(
                    torch=build.torch, variant=build.variant, reason=reason("if-gpu", card=card),
                    command=f'--gpu "{card}"',
                ),
            )  # fmt: skip
    return ()


def _impossible(base: Explanation, decision: Decision, plain: Decision, wished: Question, what: Asked) -> Explanation:
    meant = _meant(decision, wished, what)
    first = meant[0].build if meant else None
    clash = conflict(wished, decision)
    reasons = [clash] if clash is not None else []
    reasons += [why for candidate in meant if (why := candidate.why_not) is not None]
    if (decision.stopped is not None and (not meant or decision.selection.blocked or decision.undetermined)) or (
        decision.stopped is not None and decision.stopped.rule in {"conflict", "companion-none", "never-existed"}
    ):
        reasons.insert(0, decision.stopped)
    ways = [] if decision.undetermined else [*one_card(decision, wished), *after_block(decision, wished)]
    torch = first.torch if first else None
    release = wished.catalog.release(torch) if torch else None
    return base.replace(
        torch=torch,
        variant=first.variant if first else what.variant,
        verdict=reason("explain-unknown" if decision.undetermined else "explain-no", what=base.what),
        why=_distinct(reasons)[:_MOST_RULES],
        ways=_nearest(ways, plain),
        notes=_notes(decision, torch, release),
        exit_code=EXIT_UNDETERMINED if decision.undetermined else EXIT_BLOCKED,
    )


def _with(question: Question, what: Asked) -> Question:
    """Lay what was asked over the request: it replaces the wishes about the same packages."""
    request = question.request
    names = {wish.name for wish in what.wishes}
    kept = tuple(wish for wish in request.wishes if wish.name not in names)
    return question.replace(
        request=request.replace(wishes=what.wishes + kept, variant=what.variant or request.variant, upgrade=True)
    )


def _meant(decision: Decision, question: Question, what: Asked) -> list[Candidate]:
    """Return the candidates that the question is about, best first."""
    named = named_variant(question.request, decision.target)
    wishes = [wish for wish in what.wishes if wish.name == TORCH and wish.specifier]
    found = [
        candidate
        for candidate in decision.candidates
        if (named is None or candidate.build.variant == named)
        and all(admits(wish.specifier, candidate.build.torch, pre=True) for wish in wishes)
    ]
    # Builds for other hardware are no answer to why a version isn't to be had.
    far = {"backend", "not-cpu", "other-variant"} | ({"withdrawn"} if named is None else set())
    return [candidate for candidate in found if candidate.rule not in far]


def _other_backend(variant: str, plain: Decision) -> Reason:
    names = ", ".join(dict.fromkeys(card.name for card in plain.selection.cards))
    if backend(variant) == CPU and names:
        return reason("not-cpu", target=names)
    return reason("backend", variant=variant, target=names or "a machine without an accelerator")


def _nearest(ways: Sequence[Alternative], plain: Decision) -> tuple[Alternative, ...]:
    """Return the ways without repetition, those to the very thing first; a CPU build only where nothing is chosen."""
    kept: list[Alternative] = []
    seen: set[tuple[str, str, str]] = set()
    for way in sorted(ways, key=lambda way: (way.reason.rule == "if-cpu", way.reason.rule in _OTHER_WISHES)):
        key = (way.torch, way.variant, way.reason.text)
        if key in seen or (way.reason.rule == "if-cpu" and plain.solution is not None):
            continue
        seen.add(key)
        kept.append(way)
    return tuple(kept[:_MOST_WAYS])


def _notes(decision: Decision, torch: str | None, release: object) -> tuple[str, ...]:
    """Return what a release is known to say or do wrongly, where NVIDIA cards are concerned."""
    warnings: tuple[str, ...] = getattr(release, "warnings", ())
    old = [card for card in decision.selection.cards if card.cc and numbers(card.cc) < (7, 5)]
    return warnings if torch and old else ()


def _distinct(reasons: Sequence[Reason]) -> tuple[Reason, ...]:
    """Keep the first reason of each rule: the newest build that it excludes speaks for the others."""
    kept: dict[str, Reason] = {}
    for why in reasons:
        kept.setdefault(why.rule, why)
    return tuple(kept.values())
