"""May the container start? Pure: the pass, the box as it is now, the specification, the recipe, what is there of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..facts.measured_pass import Key, MeasuredPass
from ..facts.spec_file import PATH
from ..model.fact import Fact
from ..recipes.box import Box
from ..recipes.frozen import Recipe
from ..recipes.to_pin import to_pin
from . import key
from .passed import Pass
from .reason import Closed, Reason
from .state import State, differences

__all__ = ["Offer", "no_spec", "of_box", "of_measured", "of_pass", "of_recipe"]

_AGAIN = "run: sudo tunecheck preflight --pass"


@dataclass(frozen=True)
class Offer:
    """What of a recipe is on the box. ``image_id``: the id of the image as the engine has it, "sha256:<64 hex>";
    ``model``: what is wrong with the model's files, one sentence each."""

    image_id: Fact[str]
    model: tuple[str, ...]


def no_spec() -> Reason:
    """Return why no pass can hold: nothing says what it has to prove."""
    return Reason(Closed.NO_SPEC, f"no specification says how this box has to be ({PATH} does not exist); run "
                  "ansible-playbook site.yml -i inventory/NAME, or give one with --spec FILE")


def of_pass(found: Pass, now: State, spec_digest: str, max_age: float, again: str = _AGAIN
            ) -> list[Reason]:
    """Return why the pass does not hold; empty when it does. ``max_age`` in seconds; ``again``: how
    another is made. Two specifications that are both missing are not the same one: without any, nothing proves the
    box."""
    if not spec_digest:
        return [no_spec()]
    if found.state.boot_id.value is None or found.state.boot_id.value != now.boot_id.value:
        return [Reason(Closed.OTHER_BOOT, f"the pass of {found.taken} is of another boot; {again}")]
    reasons = []
    if found.exit_code != 0:
        what = "; ".join(found.reasons) or f"exit code {found.exit_code}"
        return [Reason(Closed.NOT_PASSED, f"preflight of {found.taken} did not pass: {what}")]
    if found.state.uptime.value is None or now.uptime.value is None:
        reasons.append(Reason(Closed.AGE_UNKNOWN, f"the age of the pass is unknown ({now.uptime.why()}); {again}"))
    else:
        age = now.uptime.value - found.state.uptime.value
        if not 0 <= age <= max_age:
            text = f"the pass is {age:.0f} s old, at most {max_age:.0f} s are allowed; {again}"
            reasons.append(Reason(Closed.TOO_OLD, text))
    if found.spec_digest != spec_digest:
        text = (f"the pass was given for another specification ({_short(found.spec_digest)}, now "
                f"{_short(spec_digest)}); {again}")
        reasons.append(Reason(Closed.OTHER_SPEC, text))
    return reasons + [replace(each, text=f"{each.text}; {again}") for each in differences(found.state, now)]


def of_measured(found: MeasuredPass, now: Key, state: State, this_boot: bool, again: str = _AGAIN
                ) -> list[Reason]:
    """Return why the measured pass does not hold; empty when it does. ``this_boot``: one of another
    boot does not, however alike the box is."""
    boot = state.boot_id.value
    same = boot is not None and boot == found.boot_id
    if this_boot and not same:
        return [Reason(Closed.OTHER_BOOT, f"the GPUs were measured in another boot ({found.taken}), and gate.measured "
                       f"is each-boot; {again}")]
    if found.exit_code != 0:
        what = "; ".join(found.reasons) or f"exit code {found.exit_code}"
        return [Reason(Closed.NOT_PASSED, f"the GPUs were measured ({found.taken}) and did not pass: {what}")]
    if same and (state.uptime.value is None or found.uptime > state.uptime.value):
        return [Reason(Closed.LATER, "the measured pass is of a later moment of this boot than now: it was not made "
                       f"here; {again}")]
    since = f"since the GPUs were measured ({found.taken})"
    return [replace(each, text=f"{since}, {each.text}; {again}") for each in key.differences(found.key, now)]


def of_recipe(recipe: Recipe, now: State, offer: Offer) -> list[Reason]:
    """Return why this recipe cannot be served here; empty when it can."""
    reasons = []
    image = recipe.image
    if recipe.status not in ("pinned", "golden") or image.image_id is None or recipe.model.revision is None:
        return [Reason(Closed.NOT_PINNED, f"recipe {recipe.id} is {recipe.status}, and only a pinned image and model "
                       f"are served; {to_pin(recipe)}")]
    if now.gpus.value is not None and len(now.gpus.value) < recipe.requires.gpus:
        text = f"recipe {recipe.id} needs {recipe.requires.gpus} GPUs, this box shows {len(now.gpus.value)}"
        reasons.append(Reason(Closed.TOO_FEW_GPUS, text))
    if offer.image_id.value is None:
        code, why = ((Closed.NO_IMAGE, "is not on this box; pull it by digest or load its archive")
                     if offer.image_id.missing
                     else (Closed.IMAGE_UNREAD, f"could not be looked for ({offer.image_id.why()})"))
        reasons.append(Reason(code, f"image {_short(image.image_id)} {why}"))
    elif offer.image_id.value != image.image_id:
        text = f"the image is {_short(offer.image_id.value)}, the recipe pins {_short(image.image_id)}"
        reasons.append(Reason(Closed.OTHER_IMAGE, text))
    return reasons + [Reason(Closed.MODEL, text) for text in _first(f"model {recipe.model.id}", offer.model)]


def of_box(recipe: Recipe, box: Box) -> list[Reason]:
    """Return why this recipe was not made for these boards: what the rules that ask for a box reject, and what the box
    does not tell. For the hand-over only, with the driver's answers: at a start the gate asks no driver, and preflight
    has compared the same boards with the specification."""
    from ..recipes.rules import judge

    found = [each for each in judge(recipe, box) if each.rule.asks_box and each.outcome in ("reject", "unknown")]
    fix = "serve another recipe here, or state overrides.{} with a reason"
    return [Reason(Closed.RULE, f"{each.message}; {fix.format(each.rule.id)}", each.rule.id) for each in found]


def _first(what: str, problems: Sequence[str]) -> list[str]:
    more = f" (and {len(problems) - 1} more files)" if len(problems) > 1 else ""
    return [f"{what}: {problems[0]}{more}"] if problems else []


def _short(digest: str) -> str:
    return digest[:19] if digest else "none"
