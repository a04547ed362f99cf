"""The ESP-IDF component registers all sources (with a stub of idf_component_register()), and cross compilers accept an
emitted program.
"""

import re
from pathlib import Path

import pytest
from compiling import objects, run
from conftest import ROOT
from cores.core import CORES, WARNINGS, Core, missing_tools
from models import Net

import tflm_memopt
from tflm_memopt.emit.project import Project, esp_idf
from tflm_memopt.emit.readme import About
from tflm_memopt.errors import UsageError

COMPONENT = ROOT / "custom_ops"
RECORD = (Path(__file__).parent / "esp_idf.cmake").read_text(encoding="utf-8")


def registered(folder: Path, tmp_path: Path, *, script: bool) -> tuple[list[Path], list[Path]]:
    if script:
        (tmp_path / "record.cmake").write_text(f"{RECORD}include({folder}/CMakeLists.txt)\n")
        command = ["cmake", "-P", str(tmp_path / "record.cmake")]
    else:
        (tmp_path / "CMakeLists.txt").write_text(f"{RECORD}project(idf NONE)\nadd_subdirectory({folder} component)\n")
        command = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build")]
    (line,) = re.findall(r"registered;(.*)", run(*command, cwd=tmp_path))
    where, sources, include, requires, unparsed = line.split("|")
    assert Path(where) == folder
    assert (requires, unparsed) == ("", "")
    return [folder / name for name in sources.split(";")], [folder / name for name in include.split(";")]


@pytest.mark.parametrize("script", [True, False], ids=["script", "project"])
def test_component_registers_every_source(tmp_path: Path, script: bool) -> None:
    sources, include = registered(COMPONENT, tmp_path, script=script)
    shipped = {path for folder in ("src", "tflm") for path in (COMPONENT / folder).iterdir()}
    assert set(sources) == {path for path in shipped if path.suffix in (".c", ".cpp", ".S")}
    assert include == [COMPONENT / name for name in ("include", "src", "tflm")]


@pytest.mark.slow
@pytest.mark.parametrize(("board", "core"), [("esp32s3", CORES["lx106"]), ("esp32p4", CORES["rv32"])])
def test_cross_compilers_accept_an_emitted_program(board: str, core: Core, tmp_path: Path) -> None:
    if missing_tools(core):
        pytest.skip(missing_tools(core))
    net = Net()
    x = net.conv2d(net.input((1, 12, 12, 16)), 16, kernel=(3, 3))
    x = net.pool(net.conv2d(net.depthwise_conv2d(net.add(x, x)), 16))
    files = tflm_memopt.optimize(net.model(x), board=board, name="net").files()
    (tmp_path / "net_library.c").write_bytes(files["net_library.c"])
    (tmp_path / "sdkconfig.h").write_text("#define CONFIG_NN_OPTIMIZED 1\n")
    include = [f"-I{path}" for path in (tmp_path, COMPONENT / "include", COMPONENT / "src")]
    esp = ["-DESP_PLATFORM", "-DTMO_ESP_NN", "-isystem", f"{ROOT}/tests/kernels/backends"]
    command = [f"{core.prefix}gcc", *core.flags, "-std=gnu17", "-O2", *WARNINGS, *include, *esp]
    parts = ("tmo_esp", "tmo_esp_plain", "tmo_conv_backend")
    objects(command, [tmp_path / "net_library.c", *(COMPONENT / f"src/{name}.c" for name in parts)], tmp_path)


@pytest.mark.parametrize("models", [0, 900_000, 1_100_000, 3_345_544, 7_500_000])
def test_the_application_partition_has_room_for_the_models(models: int) -> None:
    files = esp_idf(Project("net", lambda _: "", {}, library=False, boards=(), models=models))
    settings, table = files["sdkconfig.defaults"], files.get("partitions.csv")
    kilobytes = int(re.findall(r"factory,.*?(\d+)K", table)[0]) if table else 1500
    assert models + (500 << 10) <= kilobytes << 10
    assert ("PARTITION_TABLE_CUSTOM=y" in settings) == (table is not None)
    assert ("PARTITION_TABLE_SINGLE_APP_LARGE=y" in settings) == (table is None)
    megabytes = int(re.findall(r"FLASHSIZE_(\d+)MB", settings)[0]) if table else 2
    assert 64 + kilobytes <= megabytes << 10


def test_models_above_the_largest_flash_are_refused() -> None:
    with pytest.raises(UsageError, match="128 MB"):
        esp_idf(Project("net", lambda _: "", {}, library=False, boards=(), models=128 << 20))


@pytest.mark.parametrize(("board", "target"), [("esp32p4", "esp32p4"), ("xiao_esp32s3", "esp32s3"), ("mine", "TARGET")])
def test_the_readme_names_the_target_of_the_board(board: str, target: str) -> None:
    about = About("net", ("net",), "1,000", True)
    files = esp_idf(Project("net", lambda _: "", {}, library=False, boards=(), board=board, about=about))
    assert f"idf.py set-target {target} build" in files["README.md"]


@pytest.mark.parametrize(("board", "octal"), [("xiao_esp32s3", True), ("esp32s3", False)])
def test_psram_of_an_esp32s3_runs_at_80_mhz(board: str, octal: bool) -> None:
    """The project assumes PSRAM at 80 MHz, which is not ESP-IDF's default."""
    about = About("net", ("net",), "1,000", True)
    files = esp_idf(Project("net", lambda _: "", {}, library=False, boards=(), board=board, about=about, slow=1000))
    settings = files["sdkconfig.defaults.esp32s3"].splitlines()
    assert "CONFIG_SPIRAM_SPEED_80M=y" in settings
    assert ("CONFIG_SPIRAM_MODE_OCT=y" in settings) == octal
    assert ("CONFIG_SPIRAM_MODE_OCT=y" in files["README.md"]) != octal
