"""Test the placement of several models in one arena, and the written files."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from models import Net
from property.floats import in_float
from unit.command import CLOCKED, Run, long, pausing, small, unsupported

from tflm_memopt import App, AppExploration, AppModel, explore, fit, optimize
from tflm_memopt.apps.rates import MEASURED
from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.apps.verify import verify_app
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.ops.packing import Family
from tflm_memopt.plan.plan import Plan
from tflm_memopt.targets.boards import boards, runs

LOW: dict[str, Any] = {"effort": 0.05, "seconds": 0.2}


def application(retain: bool = False, stream: bool = False, **more: Any) -> App:
    models = {
        "camera": AppModel(small(1), {"input": "stream"} if stream else {}),
        "wake": AppModel(small(2), retain=retain),
        "vad": AppModel(small(3)),
    }
    return App(models, options=LOW, **more)


def plan_of(result: AppOptimized, name: str) -> Plan:
    plan = result.models[name].plan
    assert plan is not None
    return plan


def written(plan: Plan) -> set[int]:
    return {byte for buffer, offset in plan.placed() for byte in range(offset, offset + buffer.nbytes)}


def test_what_is_retained_is_nobody_elses() -> None:
    result = optimize(application(retain=True))
    (kept,) = result.report.reserved
    place = set(range(kept.first, kept.end))
    for other in ("camera", "vad"):
        assert not place & written(plan_of(result, other))
    assert place <= written(plan_of(result, "wake"))


def test_a_model_whose_bytes_tflm_places_runs_only_in_turn() -> None:
    models = {"ours": AppModel(small()), "theirs": AppModel(unsupported())}
    assert optimize(App(models, options=LOW)).report.arena.total > 0
    with pytest.raises(UsageError, match="leaves the place of") as caught:
        optimize(App(models, options=LOW, concurrent=(("ours", "theirs"),)))
    assert caught.value.code == "memory_unknown"


def test_fit_names_the_place_of_every_input() -> None:
    found = fit(optimize(application(stream=True)), ["nano33ble"])
    assert "input streamed 1 row or in the arena" in found.convention


TOML = 'concurrent = [["one", "two"]]\neffort = "low"\n' + "".join(
    f'[models.{name}]\nfile = "{name}.tflite"\n' for name in ("one", "two")
)


@pytest.fixture
def door(folder: Path) -> Path:
    (folder / "one.tflite").write_bytes(small(1))
    (folder / "two.tflite").write_bytes(small(2))
    (folder / "door.toml").write_text(TOML)
    return folder


@pytest.mark.slow
def test_from_a_file_to_files_and_back(door: Path, run: Run) -> None:
    answer = run("optimize", "door.toml", "-o", "out", "--json")
    assert answer.code == 0, answer.err
    report = answer.json
    assert report == json.loads((door / "out/door.report.json").read_text())
    for name in ("one", "two"):
        own = json.loads((door / f"out/{name}.report.json").read_text())
        assert report["models"][name] == {"arena": own["arena"], "macs": own["macs"]}
    assert report["arena"]["total"] == report["arena"]["head"] + report["arena"]["tail"] < report["apart"]
    assert report["seconds"] > 0
    header = (door / "out/door_app.h").read_text()
    assert f"door_arena_size = {report['arena_size']};" in header
    assert "excluded[] = {{0x1u, 0x1u}, {0x2u, 0x2u}};" in header
    page = (door / "out/door.report.html").read_text()
    assert "<svg" in page and "one: " in page and "two: " in page
    checked = run("verify", "door.toml", "out", "--runs", "1")
    assert checked.code == 0, checked.err
    assert "in no order of runs does a model overwrite" in checked.out


@functools.cache
def explored() -> AppExploration:
    models = {"one": AppModel(small(1), fps=2), "two": AppModel(small(2), ms=1e6)}
    return explore(App(models, options=CLOCKED))


def test_a_small_model_beside_one_on_two_cores_with_copies(tmp_path: Path) -> None:
    net = Net(2)
    models = {
        "large": AppModel(long(), {"cores": 2, "weights": "ram"}),
        "small": AppModel(net.model(net.conv2d(net.input((1, 4, 4, 2)), 3))),
    }
    app = App(models, (("large", "small"),), options=LOW)
    optimize(app).save(tmp_path)
    assert verify_app(app, tmp_path, lambda *_: None, runs=2).bit_exact


def test_the_frontier_of_an_application_is_of_points_of_its_models() -> None:
    result = explored()
    assert result.proven
    rams, loads = zip(*((point.arena, point.instructions) for point in result.points), strict=True)
    assert sorted(set(rams), reverse=True) == list(rams)
    assert sorted(set(loads)) == list(loads)
    for point in result.points:
        taken = [result.models[name][number] for name, number in point.points.items()]
        assert point.instructions == 2 * taken[0].instructions + taken[1].instructions
        assert point.head == max(-(-p.arena.head // 16) * 16 for p in taken)
        assert point.arena == point.head + point.tail
        assert point.busy is not None and 0 < point.busy[0] < 1
        assert taken[0].milliseconds
        assert point.busy == pytest.approx((2 * taken[0].milliseconds[1] / 1000,), abs=1e-3)


@pytest.mark.slow
def test_the_longer_model_pauses_for_the_shorter_one() -> None:
    result = optimize(pausing(0.2))
    (one,) = result.report.pausing
    assert (one.model, one.runs) == ("long", ("short",))
    assert result.app.yields and 0 < one.milliseconds <= result.app.yields
    assert plan_of(result, "long").pauses == one.pauses == tuple(sorted(one.pauses))
    assert not plan_of(result, "short").pauses
    assert result.report.arena.head <= result.report.stacked
    assert written(plan_of(result, "long")) & written(plan_of(result, "short"))
    heads = [nbytes for _, nbytes in result.report.curve]
    assert len(heads) > 2 and heads[-1] < heads[0]
    texts = result.files("cpp")
    assert "excluded[] = {{0x3u, 0x3u}, {0x3u, 0x2u}};" in texts["app_app.h"].decode()
    saved = Plan.from_json(json.loads(texts["long.plan.json"]))
    assert saved.pauses == one.pauses


BOTH = {"a": AppModel(long()), "b": AppModel(small())}
BY_GROUP = {"a": AppModel(long(), {"op_per": "group"}), "b": AppModel(small())}


@pytest.mark.parametrize(
    ("app", "code"),
    [
        (application(concurrent=(("camera", "wake"),), yields=1.0), "time_unknown"),
        (App(BY_GROUP, (("a", "b"),), 9.0, options=CLOCKED), "cannot_share"),
        (App(BOTH, (("a", "b"),), 1e-6, options=CLOCKED), "too_slow"),
    ],
)
def test_what_cannot_pause_is_refused(app: App, code: str) -> None:
    with pytest.raises((DoesNotFit, UsageError)) as caught:
        optimize(app)
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize("stream", [False, True])
def test_figures_of_c_modules(stream: bool) -> None:
    result = optimize(application(stream=stream), interpreter=False)
    report = result.report
    header = result.files("c")["app.h"].decode()
    assert f"#define APP_ARENA_BYTES {report.arena.head}u" in header
    where = "input streamed 1 row or in the arena" if stream else "input in the arena"
    assert f"ilp32, {where}, TFLM" in result.files("c")["app.report.html"].decode()
    assert report.arena.total == report.arena.head + 8 * stream
    assert (report.interpreter, report.arena_size) == (False, None)
    row = fit(result, ["bluepill"]).boards[0].rewritten
    assert (row.flash.tflm, row.ram_needed) == (0, report.arena.total)
    under_tflm = optimize(application(stream=stream))
    assert fit(under_tflm, ["bluepill"]).boards[0].rewritten.flash.total > row.flash.total + 20_000


def test_fit_counts_boards_of_another_target(folder: Path, run: Run) -> None:
    (folder / "app.toml").write_text('target = "cortex-m4"\n[models.one]\nfile = "small.tflite"\n')
    others = sum(not runs(board, {Family.DSP}) for board in boards().values())
    assert others
    assert f"{others} have another target" in run("fit", "app.toml").out
    assert "another target" not in run("fit", "small.tflite").out


def test_an_application_with_an_unchanged_model_can_fail(folder: Path, run: Run) -> None:
    (folder / "kept.tflite").write_bytes(unsupported())
    (folder / "app.toml").write_text('[models.one]\nfile = "small.tflite"\n[models.two]\nfile = "kept.tflite"\n')
    flags = ("optimize", "app.toml", "-o", "out", "--effort", "0.05", "--quiet")
    assert [run(*flags).code, run(*flags, "--fail-unchanged").code] == [0, 1]
    for flag in (("--cores", "1"), ("--reset-every", "2")):
        assert "is for one model" in run("verify", "app.toml", "out", *flag).err


@pytest.mark.parametrize(
    ("app", "code", "says"),
    [
        (application(ram=100), "does_not_fit", "limit is 100 B"),
        (application(ram=5_000, concurrent=(("camera", "wake", "vad"),)), "does_not_fit", "in turn they take"),
    ],
)
def test_what_does_not_fit_says_what_would(app: App, code: str, says: str) -> None:
    with pytest.raises(DoesNotFit) as caught:
        optimize(app)
    assert caught.value.code == code
    assert says in str(caught.value)
    assert caught.value.where and caught.value.hint


def test_an_application_fits_on_a_board_or_not(door: Path, run: Run) -> None:
    found = run("fit", "door.toml", "--all", "--json").json
    assert found["arena"]["total"] < found["original_arena"]["total"]
    models = [(door / f"{name}.tflite").read_bytes() for name in ("one", "two")]
    assert found["flash"]["original"] == sum(map(len, models))
    row = next(row for row in found["boards"] if row["board"]["id"] == "nano33ble")
    assert row["rewritten"]["fits"] and row["rewritten"]["ram_left"] > row["original"]["ram_left"]
    assert run("fit", "door.toml", "--board", "nano33ble", "--ram-limit", "100B").code == 1


@pytest.mark.parametrize(
    ("entries", "options", "code", "says"),
    [
        ({"ms": 0.001}, CLOCKED, "too_slow", "'one' takes at least"),
        ({"fps": 1}, LOW, "time_unknown", "the run time of 'one' is unknown"),
        ({"ms": 1}, {**LOW, "ops": "builtin", "clock": 64, "core": "cortex-m4"}, "time_unknown", "unknown"),
    ],
)
def test_a_rate_that_nothing_keeps(entries: dict[str, Any], options: Any, code: str, says: str) -> None:
    with pytest.raises((DoesNotFit, UsageError), match=says) as caught:
        optimize(App({"one": AppModel(small(1), **entries), "two": AppModel(small(2))}, options=options))
    assert caught.value.code == code
    assert caught.value.hint


def test_an_unknown_time_names_its_reason() -> None:
    floats = in_float(small(1), 1)
    answers = {}
    for what, model, options in (
        ("clock", small(1), LOW), ("kernels", floats, CLOCKED), ("builtin", unsupported(), CLOCKED),
    ):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            optimize(App({"one": AppModel(model, fps=1), "two": AppModel(small(2))}, options=options))
        answers[what] = caught.value
    assert answers["clock"].what.endswith("because no clock is known")
    assert "kernels are unknown on cortex-m4: CONV_F32" in answers["kernels"].what
    assert "inspect" not in answers["kernels"].hint
    assert answers["builtin"].what.endswith("TFLM runs operators whose time is unknown")
    assert "inspect lists the operators" in answers["builtin"].hint
    assert all("ms_measured" in answer.hint for answer in answers.values())


def test_a_measured_time_is_scaled_by_instructions() -> None:
    found = explore(App({"one": AppModel(small(1), fps=2, ms_measured=41)}, options=LOW))
    assert found.times == {"one": MEASURED}
    points = found.models["one"]
    for point in found.points:
        share = points[point.points["one"]].instructions / points[0].instructions
        assert point.busy == pytest.approx((2 * 41 * share / 1000,), abs=1e-3)
    with pytest.raises(DoesNotFit, match="takes at least 41 ms"):
        optimize(App({"one": AppModel(small(1), ms=40, ms_measured=41)}, options=LOW))
