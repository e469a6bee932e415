"""PyPI `mcp` calls the tools of the service at the address given, in the era given (auto or legacy), with the service token given.

Prints a line for each thing that was right.
"""

import asyncio
import hashlib
import os
import sys

from mcp import Client

url, mode = sys.argv[1:3]


async def main() -> None:
    async with Client(f"{url}/mcp", mode=mode) as client:
        async def call(name, **given):
            answer = await client.call_tool(name, given)
            assert not answer.is_error, f"{name}: {answer.structured_content}"
            return answer.structured_content

        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools][:3] == ["service_stamp_hash", "service_stamp_content", "service_verify_token"]
        print("tools listed: ok")
        digest = hashlib.sha256(os.urandom(16)).hexdigest()
        stamped = await call("stamp_file_hashes", files=[{"name": "a.txt", "sha256_hex": digest}])
        token_id = stamped["files"][0]["token_id"]
        assert (await call("verify_file_hash", sha256_hex=digest, token_id=token_id))["verified"]
        print("a file stamped and verified: ok")
        started = await call("workflow_start", user_email="erika@example.com", agent_id="python", briefing_hash=digest)
        access = {key: started[key] for key in ("workflow_id", "workflow_token")}
        output = await call("workflow_stamp_output", output_hash=digest, output_type="text", **access)
        assert output["sequence_number"] == 1
        assert (await call("workflow_complete", **access))["status"] == "completed"
        bundle = await call("workflow_bundle", workflow_id=access["workflow_id"])
        assert bundle["output_count"] == 1 and bundle["bundle_url"].startswith(url)
        assert (await call("verify_file_hash", sha256_hex=digest, workflow_id=access["workflow_id"]))["verified"]
        print("a whole workflow: ok")


asyncio.run(main())
