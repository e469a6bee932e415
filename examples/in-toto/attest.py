"""An in-toto attestation about a file, signed as a DSSE envelope and time-stamped. See README.md."""

import hashlib
import json
import os
import pathlib
import sys

from google.protobuf.json_format import MessageToJson
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement
from qstamp import Qstamp, require_valid
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner

QSTAMP_URL = os.environ.get("QSTAMP_URL", "http://127.0.0.1:8080")

artifact = pathlib.Path(sys.argv[1])
digest = hashlib.sha256(artifact.read_bytes()).hexdigest()
subject = ResourceDescriptor(name=artifact.name, digest={"sha256": digest})
statement = Statement([subject.pb], "https://example.com/agent-work/v1", {"agent": "my-agent", "task": "Draw a bridge."})
statement.validate()

# Your own key is here. A new one lets the example run anywhere.
signer = CryptoSigner.generate_ed25519()
envelope = Envelope(MessageToJson(statement.pb, indent=None).encode(), "application/vnd.in-toto+json", {})
envelope.sign(signer)

# The stamp covers the envelope with its signature. So it also shows that the signature is older than any later loss of the key.
attestation = pathlib.Path(f"{artifact.name}.intoto.json")
attestation.write_text(json.dumps(envelope.to_dict()), encoding="utf-8")
with Qstamp(QSTAMP_URL) as qstamp:
    stamp = qstamp.stamp_file(attestation)
    evidence = qstamp.fetch_evidence_record(stamp.token_id)
    pathlib.Path(f"{attestation}.ers").write_bytes(evidence)

    # What a stranger does: the signature, then the time.
    Envelope.from_dict(json.loads(attestation.read_text(encoding="utf-8"))).verify([signer.public_key], 1)
    require_valid(qstamp.verify_file(attestation, stamp))
print(f"{attestation} existed at {stamp.issued_at}")
