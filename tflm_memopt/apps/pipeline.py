"""Cuts models of an application into parts, each of which becomes a model.

The tensor between two parts exists twice: as an output of the first part and as an input of the second part. The first
part retains its output until it runs again, so that both parts may run at the same time.
"""

from collections.abc import Iterator
from dataclasses import replace

from tflm_memopt.apps.app import App, AppModel, bad_config
from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.files import loaded
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import read
from tflm_memopt.rewrite.partitions import partitions


def expanded(app: App) -> App:
    """Return the application with a model NAME_1, NAME_2, ... for each part of a cut model.

    All parts of a cut model may run at the same time. Raises UsageError for impossible cuts, and for names that other
    models have.
    """
    if not any(entry.pipeline for entry in app.models.values()):
        return app
    parts = {name: dict(_parts(name, entry)) for name, entry in app.models.items()}
    models = {part: entry for each in parts.values() for part, entry in each.items()}
    if len(models) < sum(map(len, parts.values())):
        hint = "use other names: the partitions of NAME are called NAME_1, NAME_2 and so on"
        raise bad_config("a partition has the name of another model", "models", hint)
    groups = [tuple(part for name in group for part in parts[name]) for group in app.concurrent]
    groups += [tuple(each) for each in parts.values() if len(each) > 1]
    return replace(app, models=models, concurrent=tuple(groups))


def _parts(name: str, entry: AppModel) -> Iterator[tuple[str, AppModel]]:
    if not entry.pipeline:
        yield name, entry
        return
    where = f"models.{name}.pipeline"
    if entry.ms is not None or entry.ms_measured is not None:
        what = "ms and ms_measured are for models that run as a whole"
        raise bad_config(what, where, "use fps, which each partition must keep")
    model = read(loaded(entry.model, name).data)
    try:
        made = partitions(model, [_operator(model.graph, start) for start in entry.pipeline])
    except UsageError as error:
        error.where = where
        raise
    for number, data in enumerate(made, 1):
        options = entry.options if number == 1 else {**entry.options, "input": "arena"}
        retain = entry.retain if number == len(made) else True
        yield f"{name}_{number}", AppModel(data, options, retain, entry.fps)


def _operator(graph: Graph, start: int | str) -> int:
    names = {str(op.index): op.index for op in graph.ops}
    for op in graph.ops:
        for tensor in op.outputs:
            names |= {graph.tensors[tensor].label: op.index, graph.tensors[tensor].name: op.index}
    if str(start) not in names:
        raise UsageError(
            f"the model has no operator '{start}' at which a partition could start",
            code="cannot_share",
            hint=one_of(str(start), names),
        )
    return names[str(start)]
