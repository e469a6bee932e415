"""Drives a client that openapi-python-client made: <folder of the client> <address> <service token> <file of the scenario>."""

import base64
import importlib
import inspect
import io
import json
import pathlib
import re
import sys
import typing
import uuid

folder, base_url, service_token, scenario_file = sys.argv[1:]
package = pathlib.Path(folder)
sys.path.insert(0, str(package.parent))
clients = importlib.import_module(f"{package.name}.client")
types = importlib.import_module(f"{package.name}.types")
kept = {"run": str(uuid.uuid4())}


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|-", "_", name).lower()


# Every operation is a module in the folder of its tag.
modules = {file.stem: file for file in package.glob("api/*/*.py")}


def operation_named(name):
    file = modules[snake(name)]
    return importlib.import_module(".".join((package.name, "api", file.parent.name, file.stem))).sync_detailed


def filled(value):
    """With what earlier steps have kept in place of its `$name`s."""
    if isinstance(value, str):
        return kept[value[1:]] if value.startswith("$") else value
    if isinstance(value, list):
        return [filled(member) for member in value]
    if isinstance(value, dict):
        return {name: filled(member) for name, member in value.items()}
    return value


def client_for(token):
    if token == "service":
        return clients.AuthenticatedClient(base_url, service_token, prefix="", auth_header_name="X-Service-Token")
    if token == "workflow":
        return clients.AuthenticatedClient(base_url, kept["workflowToken"], prefix="Workflow")
    return clients.Client(base_url)


def model_of(annotation, value):
    """The value as the class that the client takes for it; of a list, each member."""
    if typing.get_origin(annotation) is list and isinstance(value, list):
        return [model_of(typing.get_args(annotation)[0], member) for member in value]
    if isinstance(value, types.File):
        return value
    for choice in (annotation, *typing.get_args(annotation)):
        if hasattr(choice, "from_dict"):
            return choice.from_dict(value)
    return choice(value) if annotation is uuid.UUID else value


def call(step):
    operation = operation_named(step["operation"])
    parameters = inspect.signature(operation).parameters
    given = {**step.get("path", {}), **step.get("query", {}), **step.get("headers", {})}
    if "body" in step:
        given["body"] = step["body"]
    named = {snake(name): filled(value) for name, value in given.items()}
    if "content" in step:
        named["body"] = types.File(payload=io.BytesIO(base64.b64decode(step["content"])))
    models = {name: model_of(parameters[name].annotation, value) for name, value in named.items()}
    return operation(client=client_for(step.get("token")), **models)


def fault_of(step, response):
    if response.status_code != step["status"]:
        return f"{response.status_code} instead of {step['status']}: {response.content[:300]}"
    if response.parsed is None:
        return "nothing was read of the answer"
    if "bytes" in step:
        received = response.parsed.payload.read()
        return None if received and step["bytes"] in ("", base64.b64encode(received).decode()) else f"other bytes: {received[:40]}"
    if "answer" in step:
        members = response.parsed.to_dict()
        for name, expected in step["answer"].items():
            if members.get(name) != filled(expected):
                return f"{name} is {members.get(name)!r}"
    return None


failed = False
for step in json.loads(pathlib.Path(scenario_file).read_text()):
    try:
        response = call(step)
        fault = fault_of(step, response)
        for name, member in step.get("keep", {}).items():
            value = response.parsed.to_dict()[member]
            kept[name] = value.split("/")[-1] if member.endswith("_url") else value
    except Exception as error:  # whatever a generated client raises is a finding
        fault = repr(error)
    failed = failed or fault is not None
    print(f"{step['operation']}: {fault or 'ok'}", flush=True)
sys.exit(1 if failed else 0)
