"""A tool-calling loop, every output of which is stamped: what the tools write, and what the model says.

The record is closed when the model is done, and stays open when the run fails. See README.md.
"""

import json
import os
import pathlib
import sys
from typing import Any

import httpx
from qstamp import Qstamp, Workflow

QSTAMP_URL = os.environ.get("QSTAMP_URL", "http://127.0.0.1:8080")
CLIENT_EMAIL, MODEL_URL, MODEL = (os.environ[name] for name in ("CLIENT_EMAIL", "MODEL_URL", "MODEL"))
MODEL_KEY = os.environ.get("MODEL_KEY", "")
MOST_TURNS = 20

text = {"type": "string"}
parameters = {"type": "object", "properties": {"name": text, "content": text}, "required": ["name", "content"]}
tools = [{"type": "function", "function": {"name": "write_file", "description": "Writes a text file.", "parameters": parameters}}]


def ask(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Any server that speaks chat completions."""
    body = {"model": MODEL, "messages": messages, "tools": tools}
    headers = {"authorization": f"Bearer {MODEL_KEY}"} if MODEL_KEY else {}
    response = httpx.post(f"{MODEL_URL}/chat/completions", json=body, headers=headers, timeout=300)
    message: dict[str, Any] = response.raise_for_status().json()["choices"][0]["message"]
    return message


def write_and_stamp(called: dict[str, Any], workflow: Workflow) -> str:
    """Writes below outputs/, whatever folder the model names, and stamps what was written."""
    if called["name"] != "write_file":
        return f"There is no tool {called['name']}."
    given = json.loads(called["arguments"])
    path = pathlib.Path("outputs", pathlib.Path(given["name"]).name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(given["content"], encoding="utf-8")
    stamped = workflow.stamp_file(path, output_type="text", output_metadata={"name": path.name, "public": True})
    return f"Wrote {path}, output {stamped.sequence_number}."


def run(task: str, workflow: Workflow) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
    for _ in range(MOST_TURNS):
        message = ask(messages)
        messages.append(message)
        if message.get("content"):
            workflow.stamp_text(message["content"])
        calls = message.get("tool_calls") or []
        if not calls:
            return str(message["content"])
        for call in calls:
            content = write_and_stamp(call["function"], workflow)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    raise RuntimeError(f"the model was not done after {MOST_TURNS} turns")


task = sys.argv[1]
with Qstamp(QSTAMP_URL) as qstamp, qstamp.workflow(user_email=CLIENT_EMAIL, agent_id=MODEL, briefing=task) as workflow:
    print(workflow.page_url)
    print(run(task, workflow))
