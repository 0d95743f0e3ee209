"""Several texts of nvidia-smi about one machine as one NVML document: of two values the worse one counts, wherever the
texts stand. Texts of two machines or boots are told apart."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from .nvml_keys import KEYS

__all__ = ["ONLY_ON_HOST", "apart", "document", "of_table"]

#: Why a document of texts lacks what no text shows: the version of NVML's library.
ONLY_ON_HOST = "not in the import, and no text shows it; on the box run: sudo tunecheck record"
#: Why a report that is cut, or one of some sections (-d MEMORY), lacks a value.
_NOT_SHOWN = "NOT_READ: not in this part of the report; add the whole of: nvidia-smi -q"

#: A text is {"driver", "attached" (GPUs of the machine, 0: not told), "gpus": {bdf: {"values", "errors"}}}; with
#: "boards" {"gpu 2": error} of those whose address is refused, too.
Told = Dict[str, Any]
Gpu = Dict[str, Dict[str, Any]]

_SAME = ("uuid", "serial", "ids")
_BOARD = (*_SAME, "name", "vbios")
_HIGH = frozenset((
    "ecc_volatile_corrected", "ecc_volatile_uncorrected", "ecc_aggregate_corrected", "ecc_aggregate_uncorrected",
    "remapped_correctable", "remapped_uncorrectable", "remap_pending", "remap_failed", "temperature_c",
    "replay_counter", "replay_rollovers", "recovery_action",
    "slowdown_sw_thermal_us", "slowdown_hw_thermal_us", "slowdown_power_brake_us",
    "bar1_used_mib", "clock_sm_mhz", "link_gen_board", "retire_pending",
   "sram_threshold_exceeded", "channel_repair_pending", "tpc_repair_pending", "unrepairable_memory"))
_LOW = frozenset((
    "link_gen_max", "link_width", "link_width_max", "bar1_total_mib", "memory_total_mib", "temperature_slowdown_c",
    "temperature_shutdown_c", "power_limit_mw", "power_limit_enforced_mw",
    "power_limit_default_mw", "power_limit_min_mw", "power_limit_max_mw",
    "clock_sm_max_mhz", "clock_memory_max_mhz", "persistence", "nvlinks_active"))
#: What belongs to one moment, and says something only together: a link sleeps while its GPU is idle.
_MOMENT = ("pstate", "utilization_gpu", "processes", "link_gen", "utilization_memory", "power_draw_mw",
           "memory_used_mib", "clock_memory_mhz")
#: Those by which two moments are told apart; watts and MiB always differ a little.
_STATE = _MOMENT[:4]
#: Of two of these words the one that stands farther behind is the worse one where nothing else is declared.
_WORDS = {"mig_mode": ("disabled", "enabled"), "mig_pending": ("disabled", "enabled"),
          "ecc_mode": ("enabled", "disabled"), "ecc_pending": ("enabled", "disabled"),
          "compute_mode": ("default", "exclusive_thread", "exclusive_process", "prohibited"),
          "addressing_mode": ("none", "ATS", "HMM")}
_FABRIC = ("completed", "not_supported", "in_progress", "not_started")
#: Refusals that are a fault. Others (not supported, no permission) say nothing against a value of another text.
_FAULTS = ("UNKNOWN", "GPU_IS_LOST", "RESET_REQUIRED", "TIMEOUT")


def of_table(table: Optional[Dict[str, Any]]) -> Optional[Told]:
    """Return what parse_table found as one of these texts. None where it names no GPU."""
    boards = {who: error for who, error in table["errors"].items() if who.startswith("gpu ")} if table else {}
    if not table or not (table["gpus"] or boards):
        return None
    whole = "gpus" not in table["errors"]
    return {"driver": table["driver"] or "", "attached": len(table["gpus"]) + len(boards) if whole else 0,
            "boards": boards,
            "gpus": {gpu["bdf"]: {"values": gpu["values"], "errors": gpu["errors"]} for gpu in table["gpus"]}}


def apart(texts: Sequence[Told]) -> Optional[str]:
    """Return a sentence where two texts are of two machines or boots, else None."""
    for name, what in (("driver", "drivers"), ("attached", "numbers of GPUs")):
        told = list(dict.fromkeys(text[name] for text in texts if text[name]))
        if len(told) > 1:
            return "two texts of nvidia-smi tell different %s: %s and %s" % (what, told[0], told[1])
    most = max((text["attached"] for text in texts), default=0)
    known: Dict[str, Dict[str, Any]] = {}
    places: Dict[str, str] = {}
    for text in texts:
        for bdf, gpu in text["gpus"].items():
            before = known.setdefault(bdf, {})
            for key in _BOARD[:4]:
                value, other = gpu["values"].get(key), before.get(key)
                if value is not None and other is not None and _differ(key, str(value), str(other)):
                    return "%s is %s in one text of nvidia-smi and %s in another" % (bdf, other, value)
                if value is not None:
                    before[key] = value
            uuid = gpu["values"].get("uuid")
            if uuid and places.setdefault(uuid, bdf) != bdf:
                return "GPU %s is at %s in one text of nvidia-smi and at %s in another" % (uuid, places[uuid], bdf)
    if most and len(known) > most:
        return "each text of nvidia-smi tells of %d GPUs, and together they show %d" % (most, len(known))
    return None


def _differ(key: str, one: str, other: str) -> bool:
    """Return whether two values mean two boards. Older tables leave out the maker: "RTX A6000"."""
    if key == "name":
        return not (one.endswith(other) or other.endswith(one))
    return one.lower() != other.lower()


def document(texts: Sequence[Told]) -> Optional[Dict[str, Any]]:
    """Return the NVML document of all texts. None where no text names a GPU."""
    gpus: Dict[str, Gpu] = {}
    for text in texts:
        for bdf, gpu in text["gpus"].items():
            more = {"values": dict(gpu["values"]), "errors": dict(gpu["errors"])}
            gpus[bdf] = _worse(gpus[bdf], more) if bdf in gpus else more
    if not gpus and not any(text.get("boards") for text in texts):
        return None
    for gpu in gpus.values():
        # Of a whole report the driver itself left out what is not there.
        for key in KEYS if "whole_report" not in gpu["values"] else ():
            if key not in gpu["values"]:
                gpu["errors"].setdefault(key, _NOT_SHOWN)
    driver = next((text["driver"] for text in texts if text["driver"]), "")
    attached = max(text["attached"] for text in texts)
    errors = {"library": ONLY_ON_HOST}
    for text in texts:
        errors.update(text.get("boards", {}))
    if not driver:
        errors["driver"] = "not in the import; add: nvidia-smi -q"
    if attached > len(gpus):
        errors["gpus"] = "cut short: %d attached, %d shown" % (attached, len(gpus))
    elif not attached:
        errors["gpus"] = "cut short: how many are attached is not shown"
    return {"driver": driver or None, "library": None, "errors": errors, "pairs": [], "attached": attached,
            "gpus": [{"bdf": bdf, "index": index, **gpus[bdf]} for index, bdf in enumerate(sorted(gpus))]}


def _worse(one: Gpu, other: Gpu) -> Gpu:
    """Return what two texts about one GPU tell, the worse of each."""
    moment = _moment(one, other)
    values: Dict[str, Any] = {}
    errors: Dict[str, Any] = {}
    for key in list(dict.fromkeys([*one["values"], *other["values"], *one["errors"], *other["errors"]])):
        sides: List[Gpu] = moment if moment is not None and key in _MOMENT else [one, other]
        told = [side["values"][key] for side in sides if key in side["values"]]
        refused = [str(side["errors"][key]) for side in sides if key in side["errors"]]
        faults = [each for each in refused if each in _FAULTS or each.startswith("not understood")]
        if told and not (faults and not _alarming(key, told)):
            kept = told[0]
            for value in told[1:]:
                kept = _of_two(key, kept, value)
            if kept is None:
                errors[key] = "two texts differ: %s and %s" % (str(told[0])[:40], str(told[1])[:40])
            else:
                values[key] = kept
        elif refused:
            errors[key] = (faults or refused)[0]
    if moment is not None and not moment:
        errors.update(dict.fromkeys(_STATE, "two texts of different moments, each with a fault of its own"))
    return {"values": values, "errors": errors}


def _alarming(key: str, told: Sequence[Any]) -> bool:
    """Return whether a value is one that another text's refusal must not hide: a count of faults, which board it is."""
    counts = key.startswith(("ecc_v", "ecc_a", "remap", "retire", "sram", "channel", "tpc", "unrepairable",
                             "clocks_event", "recovery"))
    return key in _BOARD or (counts and any(told))


def _of_two(key: str, one: Any, other: Any) -> Any:
    """Return the worse of two values, None where it is not known which one is."""
    if one == other or key in _MOMENT:
        return one
    if key in _HIGH:
        return max(one, other)
    if key in _LOW:
        return min(one, other)
    if key == "clocks_event_reasons":
        return one | other
    if key == "name":
        return max(one, other, key=len)
    if key in _WORDS and one in _WORDS[key] and other in _WORDS[key]:
        return max(one, other, key=_WORDS[key].index)
    if key == "fabric_state":
        return max(one, other, key=_FABRIC.index)
    if key == "fabric_health":
        return list(dict.fromkeys([*one, *other]))
    if key == "fabric_status":
        return other if one == "SUCCESS" else one
    return None


def _moment(one: Gpu, other: Gpu) -> Optional[List[Gpu]]:
    """Return the text that counts where two are of different moments: the one at work on a slow link, or busy without
    a process. None for one moment, whose texts complete each other; nothing where each has a fault of its own."""
    a, b = one["values"], other["values"]
    if all(a[key] == b[key] for key in _STATE if key in a and key in b):
        return None
    first, second = _marks(a), _marks(b)
    if first[0] >= second[0] and first[1] >= second[1]:
        more = sum(key in b for key in _MOMENT) > sum(key in a for key in _MOMENT)
        return [other if first == second and more else one]
    return [other] if second[0] >= first[0] and second[1] >= first[1] else []


def _marks(values: Dict[str, Any]) -> Tuple[int, int]:
    busy, state = values.get("utilization_gpu", 0), values.get("pstate")
    slow = (state is not None and state <= 2 and busy >= 50
            and values.get("link_gen", 99) < values.get("link_gen_max", 0))
    alone = 0 if busy < 95 or values.get("processes") else 2 if "processes" in values else 1
    return int(slow), alone
