from tflm_memopt.convert import pipeline
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import Model
from tflm_memopt.plan import planner
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.rewrite.int8_io import Int8Interface


def make_plan(graph: Graph, options: ConversionOptions) -> Planned | None:
    rows = pipeline.row_graph(pipeline.annotate(graph), options)
    return None if rows is None else pipeline.checked(rows, planner.plan(rows, options))


def plan_of(graph: Graph, options: ConversionOptions) -> Planned:
    found = make_plan(graph, options)
    assert found is not None
    return found


def lowered(model: Model, found: Planned, options: ConversionOptions) -> bytes:
    return pipeline.lower(model, Int8Interface(model.graph, Changes(), {}, ()), found, options)
