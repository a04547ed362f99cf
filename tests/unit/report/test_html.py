from dataclasses import replace
from html.parser import HTMLParser

import pytest
from models import Net

import tflm_memopt
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.answers.report import InterfaceReport, KeptBuiltin
from tflm_memopt.report import html


class Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


@pytest.fixture(scope="module")
def result() -> Optimized:
    net = Net(3)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2))
    model = net.model(net.conv2d(net.mean(net.depthwise_conv2d(x), (1, 2)), 4))
    return tflm_memopt.optimize(model, name="small.tflite", max_macs=1.5, ram_limit=50_000)


def test_hostile_names_are_only_text(result: Optimized) -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    original = result.inspection
    tensors = tuple(replace(t, name=evil) for t in original.tensors)
    report = replace(
        result.report, model=evil, kept_builtin=(KeptBuiltin(0, evil, "x", evil, evil),),
        interface=(InterfaceReport("input", evil, evil, evil),), interface_kept=(evil,),
    )  # fmt: skip
    page = html.optimized(replace(result, report=report, inspection=replace(original, model=evil, tensors=tensors)))
    parsed = Page(page)
    assert not [tag for tag, _ in parsed.tags if tag == "img"]
    assert len([tag for tag, _ in parsed.tags if tag == "script"]) == 2
    assert evil in parsed.text
