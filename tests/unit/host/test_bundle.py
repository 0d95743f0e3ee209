"""Bundles: the same answers give the same bytes, and whatever no recording holds is refused, with nothing written."""

from __future__ import annotations

import io
import json
import random
import shutil
import subprocess
import tarfile
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.facts.big import big_spec, eight_gpus
from tests.unit.facts.trees import full, switch
from tests.unit.host.bundles import MANIFEST, bundle, member, tar

from tunecheck.errors import UsageError
from tunecheck.facts.snapshot import gather
from tunecheck.host import Completed
from tunecheck.host import bundle as module
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.answers import Answers
from tunecheck.host.bundle import load, pack, unpack
from tunecheck.host.recording import RecordingHost
from tunecheck.parsers.text import log_lines
from tunecheck.parsers.text.damage import Damage, DamagedError
from tunecheck.rules import judge
from tunecheck.rules.context import Case


def _answers() -> Answers:
    return Answers(
        reads={"/proc/cmdline": b"root=/dev/vda3 ro\n", "/sys/x/config": bytes(range(256)), "/with/../dots": b"odd",
               "/" + "long/" * 60 + "x": b"far", "/odd\udcff": b"not utf-8", "/empty": b""},
        lists={"/sys": ["b", "a"], "/odd": ["\udcff"]}, realpaths={"/a": "/b"},
        errors={"read /n": reason_of_text("no permission")},
        runs={("dmesg",): Completed(("dmesg",), 0, "a line\n", ""), ("x", "-y"): reason_of_text("timed out after 5 s"),
              ("sh", "-c", "é/.."): Completed(("sh", "-c", "é/.."), 3, "", "oops")},
        nvml={"driver": "595.71.05", "gpus": [], "pairs": [], "errors": {}})


def test_every_answer_comes_back() -> None:
    assert unpack(pack(_answers(), created=0)) == _answers()


def test_the_same_answers_are_the_same_bytes() -> None:
    turned = _answers()
    for part in (turned.reads, turned.lists, turned.errors, turned.runs):
        items = list(part.items())[::-1]  # type: ignore[attr-defined]
        part.clear()
        part.update(items)  # type: ignore[attr-defined]
    assert pack(_answers(), created=0) == pack(turned, created=0)


def test_people_can_look_into_it(tmp_path: Path) -> None:
    content = pack(_answers(), redacted=True, created=0, root=False)
    with tarfile.open(fileobj=io.BytesIO(zstandard.decompress(content))) as archive:
        names = archive.getnames()
        assert {(info.mtime, info.uid, info.mode, info.type) for info in archive} == {(0, 0, 0o644, tarfile.REGTYPE)}
        manifest = json.loads(archive.extractfile("manifest.json").read())  # type: ignore[union-attr]
    assert names == ["manifest.json", "answers.json", "nvml.json", "commands/01-dmesg.txt", "commands/02-sh-c.txt",
                     "commands/02-sh-c.stderr.txt", "files/empty", "files/proc/cmdline", "files/sys/x/config"]
    assert manifest == {**MANIFEST, "created": "1970-01-01T00:00:00Z", "redacted": True, "root": False}
    if shutil.which("zstd") is None:
        pytest.skip("no zstd program for `tar --zstd`")
    (tmp_path / "box.tar.zst").write_bytes(content)
    listed = subprocess.run(["tar", "--zstd", "-tf", str(tmp_path / "box.tar.zst")], capture_output=True, text=True,
                            timeout=60, check=True)
    assert listed.stdout.splitlines() == names


@pytest.mark.parametrize("layout", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT])
def test_a_bundle_that_somebody_packed_again(layout: int) -> None:
    folder = member("files/proc/", tarfile.DIRTYPE)
    found = unpack(bundle((folder, b""), ("files/proc/cmdline", b"quiet\n"), layout=layout))
    assert found.reads == {"/proc/cmdline": b"quiet\n"}


def _id(value: object) -> str:
    if isinstance(value, Damage):
        return str(value.value)
    return value if isinstance(value, str) else "bundle"


_RUN = {"argv": ["x"], "returncode": 0, "stdout": "commands/01-x.txt", "stderr": None}
_TAR = tar(("manifest.json", json.dumps(MANIFEST).encode()), ("answers.json", b"{}"), ("files/a", b"x" * 5000))


def _huge_number() -> bytes:
    return zstandard.compress(_TAR[:124] + b"\x80" + _TAR[125:])


@pytest.mark.parametrize(("content", "damage", "names"), [
    (b"", Damage.EMPTY, ""),
    (b"PK\x03\x04", Damage.NOT_PACKED, ""),
    (module.MAGIC, Damage.CUT_SHORT, ""),
    (zstandard.compress(b""), Damage.CUT_SHORT, ""),
    (zstandard.compress(b"x" * 2000), Damage.NOT_TAR, ""),
    (zstandard.compress(b"\0" * 1024), Damage.NO_MEMBER, "manifest.json"),
    (zstandard.compress(_TAR)[:-20], Damage.CUT_SHORT, ""),
    (zstandard.compress(_TAR[:3000]), Damage.CUT_SHORT, ""),
    (zstandard.compress(_TAR + b"more"), Damage.MORE_BEHIND, ""),
    (zstandard.compress(_TAR[:200] + b"x" + _TAR[201:]), Damage.HEADER, ""),
    (_huge_number(), Damage.HEADER, ""),
    (bundle(("../../etc/passwd", b"x")), Damage.BAD_NAME, ""),
    (bundle(("files/../../etc/passwd", b"x")), Damage.BAD_NAME, ""),
    (bundle(("/etc/passwd", b"x")), Damage.BAD_NAME, ""),
    (bundle(("files//x", b"x")), Damage.BAD_NAME, ""),
    (bundle(("files/\n", b"x")), Damage.BAD_NAME, ""),
    (bundle((member("files/a", tarfile.SYMTYPE, "/etc/passwd"), b"")), Damage.LINK, "'files/a'"),
    (bundle((member("files/a", tarfile.LNKTYPE, "/etc/passwd"), b"")), Damage.HARD_LINK, "'files/a'"),
    (bundle((member("files/a", tarfile.CHRTYPE), b"")), Damage.DEVICE, "'files/a'"),
    (bundle((member("files/a", tarfile.BLKTYPE), b"")), Damage.DEVICE, "'files/a'"),
    (bundle((member("files/a", tarfile.FIFOTYPE), b"")), Damage.FIFO, "'files/a'"),
    (bundle((member("files/" + "x" * 150), b""), layout=tarfile.GNU_FORMAT), Damage.OTHER_KIND, "LongLink"),
    (bundle(("files/a", b"1"), ("files/a", b"1")), Damage.TWICE, "'files/a'"),
    (bundle(("manifest.json", b"{}")), Damage.TWICE, "'manifest.json'"),
    (bundle(("files/a", b"1"), answers={"reads": {"/a": "MQ=="}}), Damage.TWICE, "'/a'"),
    (bundle(("surprise", b"1")), Damage.UNKNOWN_MEMBER, "'surprise'"),
    (bundle(("commands/09-x.txt", b"1")), Damage.UNKNOWN_MEMBER, "'commands/09-x.txt'"),
    (bundle(manifest=b"nonsense"), Damage.NOT_JSON, "manifest.json "),
    (bundle(manifest=b"[" * 100_000), Damage.NOT_JSON, "manifest.json "),
    (bundle(manifest=b"[]"), Damage.NO_TABLE, "manifest.json "),
    (bundle(manifest={"schema": "other/2"}), Damage.OTHER_SCHEMA, "'other/2'"),
    (bundle(manifest={**MANIFEST, "schema": 2}), Damage.OTHER_SCHEMA, "'2'"),
    (bundle(manifest={**MANIFEST, "redacted": 1}), Damage.WRONG_TYPE, "redacted "),
    (bundle(answers=b"{"), Damage.NOT_JSON, "answers.json "),
    (bundle(answers=b"[]"), Damage.NO_TABLE, "answers.json "),
    (bundle(answers={"lists": {"/x": [1]}}), Damage.WRONG_TYPE, "lists "),
    (bundle(answers={"errors": []}), Damage.WRONG_TYPE, "errors "),
    (bundle(answers={"reads": {"/x": "%%"}}), Damage.NOT_BASE64, "'/x'"),
    (bundle(answers={"runs": [{"argv": []}]}), Damage.NO_COMMAND, "runs[0] "),
    (bundle(answers={"runs": [_RUN]}), Damage.NO_OUTPUT, "runs[0] "),
    (bundle(("commands/01-x.txt", b""), answers={"runs": [{**_RUN, "returncode": True}]}), Damage.NO_RESULT,
     "runs[0] "),
    (bundle(("nvml.json", b"[]")), Damage.WRONG_TYPE, "nvml "),
], ids=_id)
def test_a_damaged_or_hostile_bundle_is_refused(tmp_path: Path, content: bytes, damage: Damage, names: str) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "x.tar.zst").write_bytes(content)
    with pytest.raises(UsageError) as refused:
        load(str(folder / "x.tar.zst"))
    assert refused.value.flaw is damage and names in str(refused.value)
    assert "tunecheck record" in str(refused.value), "how one is made"
    assert [path.name for path in tmp_path.rglob("*")] == ["here", "x.tar.zst"]


@pytest.mark.parametrize(("version", "damage"), [(3, Damage.NEWER), (1, Damage.OLDER)])
def test_another_version_is_told_by_its_number(tmp_path: Path, version: int, damage: Damage) -> None:
    # A newer one may hold anything behind its manifest.
    other = bundle((member("files/a", tarfile.SYMTYPE, "b"), b""), manifest={"schema": f"tunecheck/record/{version}"})
    (tmp_path / "x").write_bytes(other)
    with pytest.raises(UsageError, match=rf"/x: .*\brecord/{version}\b") as refused:
        load(str(tmp_path / "x"))
    assert refused.value.flaw is damage


def test_bombs_are_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNPACKED", 8 << 20)
    monkeypatch.setattr(module, "MAX_MEMBER", 1 << 20)
    zeros = b"\0" * (1 << 20)
    bombs = {"1 MiB": bundle(("files/a", zeros + b"x")),
             "8 MiB": bundle(*((f"files/{number}", zeros) for number in range(12))),
             "50000": zstandard.compress(tar(*((f"files/{at}", b"") for at in range(50_001))))}
    monkeypatch.setattr(module, "MAX_UNPACKED", 64 << 20)
    tracemalloc.start()
    for limit, content in bombs.items():
        assert len(content) < 1 << 20
        monkeypatch.setattr(module, "MAX_UNPACKED", (8 if limit == "8 MiB" else 64) << 20)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        with pytest.raises(DamagedError, match=f" {limit}\\b") as refused:
            unpack(content)
        assert refused.value.damage is (Damage.TOO_MANY if limit == "50000" else Damage.TOO_LARGE)
        assert tracemalloc.get_traced_memory()[1] - before < 40 << 20
    tracemalloc.stop()


def test_a_frame_that_asks_for_much_memory_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    content = compressor.compress(_TAR) + compressor.flush()
    with pytest.raises(DamagedError) as refused:
        unpack(content)
    assert refused.value.damage is Damage.PACKING


def test_an_eight_gpu_box_with_a_kernel_log_of_16_mib_stays_below_5_mib() -> None:
    """Even a log that hardly compresses. Its middle is left out then, and the verdict says so."""
    dice = random.Random(0)
    start = "[    0.000000] Linux version 6.12.1\n"
    log = start + "".join(f"[{number:5}.000000] audit: {dice.getrandbits(880):x}\n" for number in range(66_000))
    assert len(log) > 15 << 20
    recorder, spec = RecordingHost(eight_gpus(log=log).host()), big_spec()
    live = gather(recorder, spec.spec, True)
    content = recorder.packed(redact=True)
    assert len(content) < 5 << 20
    replayed = gather(unpack(content).host(), spec.spec, True)
    outcomes = [[(finding.outcome, finding.text) for finding in judge(Case(snapshot, spec), "host")
                 if finding.id == "kernel-log-complete"] for snapshot in (live, replayed)]
    assert [found[0][0] for found in outcomes] == ["pass", "warn"]
    kept = replayed.host.kernel.log.value  # type: ignore[union-attr]
    assert kept is not None and kept.events.start and kept.events.cut


def test_a_usual_log_is_kept_whole() -> None:
    log = "[    0.000000] Linux version 6.12.1\n" + "".join(
        f"[{number:5}.000000] usb 1-1: new device number {number}\n" for number in range(300_000))
    recorder = RecordingHost(full(switch(), log=log).host())
    gather(recorder, None, True)
    done = unpack(recorder.packed()).runs[("dmesg",)]
    assert isinstance(done, Completed) and done.stdout == log and log_lines.LEFT_OUT not in done.stdout


_WHOLE = zstandard.decompress(pack(_answers(), created=0))
_EDITS = st.lists(st.tuples(st.sampled_from(("cut", "double", "insert", "swap")), st.integers(0, 1 << 20),
                            st.sampled_from((1, 8, 100, 512, 2000)), st.binary(max_size=12)), min_size=1, max_size=4)


def _damaged(content: bytes, edits: list[tuple[str, int, int, bytes]]) -> bytes:
    for kind, place, length, insert in edits:
        start = place % (len(content) + 1)
        end = min(len(content), start + length)
        middle = {"cut": b"", "double": content[start:end] * 2, "insert": insert + content[start:end],
                  "swap": insert[:end - start] + content[start + len(insert[:end - start]):end]}[kind]
        content = content[:start] + middle + content[end:]
    return content


def _checksums(content: bytes) -> bytes:
    """Right ones again, so that damage reaches what lies behind them."""
    blocks = [bytearray(content[at:at + 512]) for at in range(0, len(content), 512)]
    for block in blocks:
        if len(block) == 512 and block[257:262] == b"ustar":
            block[148:156] = b" " * 8
            block[148:156] = b"%06o\0 " % sum(block)
    return b"".join(blocks)


@settings(max_examples=400, deadline=None, derandomize=True, database=None,
          suppress_health_check=[HealthCheck.too_slow])
@given(edits=_EDITS, inside=st.sampled_from(("packed", "tar", "repaired")))
def test_any_damage_is_refused_or_read(edits: list[tuple[str, int, int, bytes]], inside: str) -> None:
    if inside == "packed":
        content = _damaged(zstandard.compress(_WHOLE), edits)
    else:
        damaged = _damaged(_WHOLE, edits)
        content = zstandard.compress(_checksums(damaged) if inside == "repaired" else damaged)
    try:
        found = unpack(content)
    except ValueError as error:
        assert str(error)
        return
    gather(found.host(), None, True)
