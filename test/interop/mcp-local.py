"""PyPI `mcp` starts `qstamp mcp` with the command given, in the era given (auto or legacy), and uses its tools on files of this folder.

Prints a line for each thing that was right.
"""

import asyncio
import os
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.types import ListRootsResult, Root

mode, command, *args = sys.argv[1:]


async def roots(_context: object) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri=Path.cwd().as_uri())])


async def main() -> None:
    program = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with Client(program, mode=mode, list_roots_callback=roots) as client:
        async def call(name, **given):
            answer = await client.call_tool(name, given)
            assert not answer.is_error, f"{name}: {answer.content[0].text}"
            return answer.structured_content["results"]

        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools][:3] == ["stamp_files", "verify_file", "show_stamp"]
        print("tools listed: ok")
        Path("a.txt").write_bytes(os.urandom(16))
        await call("stamp_files", paths=["a.txt"])
        assert Path("a.txt.qstamp.json").exists()
        # Nobody trusts the development TSA here.
        assert (await call("verify_file", path="a.txt"))[0]["verdict"] == "not_proved"
        print("a file stamped and verified, in a root of the client: ok")
        await call("workflow_start", user_email="erika@example.com", agent_id="python", briefing="a.txt")
        Path("b.txt").write_bytes(os.urandom(16))
        assert (await call("workflow_add_files", paths=["b.txt"]))[0]["sequence_number"] == 1
        _completed, saved = await call("workflow_complete")
        assert Path(saved["bundle"]).exists()
        print("a whole workflow: ok")
        failed = await client.call_tool("verify_file", {"path": "/etc/hostname"})
        assert failed.is_error and "ask the user" in failed.content[0].text
        print("the reason of a refusal: ok")


asyncio.run(main())
