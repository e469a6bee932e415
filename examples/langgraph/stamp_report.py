"""A LangGraph graph whose last node stamps what the graph has made. See README.md."""

import os
import pathlib
import sys
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from qstamp import Qstamp

QSTAMP_URL = os.environ.get("QSTAMP_URL", "http://127.0.0.1:8080")


class State(TypedDict, total=False):
    topic: str
    report: str
    stamp_id: str
    stamped_at: str


def write_report(state: State) -> State:
    """Your own nodes are here. This one asks no model, so that the example runs anywhere."""
    return {"report": f"# {state['topic']}\n\nIt stands since 1883.\n"}


def stamp_report(state: State) -> State:
    """Saves the report, and the evidence record of its stamp beside it."""
    path = pathlib.Path("report.md")
    path.write_text(state["report"], encoding="utf-8")
    with Qstamp(QSTAMP_URL) as qstamp:
        stamp = qstamp.stamp_file(path)
        evidence = qstamp.fetch_evidence_record(stamp.token_id)
    pathlib.Path("report.md.ers").write_bytes(evidence)
    return {"stamp_id": stamp.token_id, "stamped_at": stamp.issued_at}


graph = StateGraph(State)
graph.add_node("write", write_report)
graph.add_node("stamp", stamp_report)
graph.add_edge(START, "write")
graph.add_edge("write", "stamp")
graph.add_edge("stamp", END)

made = graph.compile().invoke({"topic": sys.argv[1]})
print(f"report.md existed at {made['stamped_at']}: stamp {made['stamp_id']}")
