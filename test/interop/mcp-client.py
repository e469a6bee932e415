"""PyPI `mcp` calls the tools of the service at the address given, in the era given (auto or legacy), with the service token given.

Prints a line for each thing that was right.
"""

import asyncio
import hashlib
import os
import sys

from httpx2 import AsyncClient
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

url, mode, token = sys.argv[1:4]


async def main() -> None:
    http = AsyncClient(headers={"X-Service-Token": token})
    async with Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client:
        async def call(name, **given):
            answer = await client.call_tool(name, given)
            assert not answer.is_error, f"{name}: {answer.content[0].text}"
            return answer.structured_content

        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools][:3] == ["service_stamp_hash", "service_stamp_content", "service_verify_token"]
        print("tools listed: ok")
        digest = hashlib.sha256(os.urandom(16)).hexdigest()
        stamped = await call("stamp_file_hashes", files=[{"name": "a.txt", "sha256_hex": digest}])
        token_id = stamped["files"][0]["token_id"]
        judged = await call("verify_file_hash", sha256_hex=digest, token_id=token_id)
        # The stamps of the development TSA are valid, but for trials.
        assert not judged["verified"] and judged["reason"].startswith("development_stamp: ")
        print("a file stamped and verified: ok")
        started = await call("workflow_start", user_email="erika@example.com", agent_id="python", briefing_hash=digest)
        access = {key: started[key] for key in ("workflow_id", "workflow_token")}
        output = await call("workflow_stamp_output", output_hash=digest, output_type="text", **access)
        assert output["sequence_number"] == 1
        assert (await call("workflow_complete", **access))["status"] == "completed"
        bundle = await call("workflow_bundle", workflow_id=access["workflow_id"])
        assert bundle["output_count"] == 1 and bundle["bundle_url"].startswith(url)
        judged = await call("verify_file_hash", sha256_hex=digest, workflow_id=access["workflow_id"])
        assert judged["sequence_number"] == 1 and judged["reason"].startswith("development_stamp: ")
        print("a whole workflow: ok")
        failed = await client.call_tool("workflow_bundle", {"workflow_id": "01890a5d-ac96-774b-bcce-b302099a8057"})
        assert failed.is_error and "no workflow with this id" in failed.content[0].text
        print("the reason of a failure: ok")


asyncio.run(main())
