"""Drives time-stamp clients of PyPI: <client> stamp|verify <address of the TSA> <root, PEM> <key, PEM> <certificate, PEM>."""

import io
import pathlib
import sys
import urllib.request

client, verb, url, root_file, key_file, certificate_file = sys.argv[1:]
message = b"what is time-stamped"
answer = pathlib.Path("answer")


def use_rfc3161_client():
    from rfc3161_client import HashAlgorithm, TimestampRequestBuilder, VerifierBuilder, decode_timestamp_response

    if verb == "stamp":
        query = TimestampRequestBuilder().data(message).hash_algorithm(HashAlgorithm.SHA512).build()
        headers = {"Content-Type": "application/timestamp-query"}
        with urllib.request.urlopen(urllib.request.Request(url, query.as_bytes(), headers)) as reply:
            answer.write_bytes(reply.read())
    else:
        from cryptography.x509 import load_pem_x509_certificate

        root = load_pem_x509_certificate(pathlib.Path(root_file).read_bytes())
        verifier = VerifierBuilder().add_root_certificate(root).build()
        assert verifier.verify_message(decode_timestamp_response(answer.read_bytes()), message)


def use_tsp_client():
    from tsp_client import SigningSettings, TSPSigner, TSPVerifier

    verifier = TSPVerifier(ca_pem_file=root_file)
    if verb == "stamp":
        signer = TSPSigner()
        # It verifies what it gets, by public roots only, and takes no other verifier.
        signer._verifier = verifier
        answer.write_bytes(signer.sign(message, signing_settings=SigningSettings(tsp_server=url)))
    else:
        assert verifier.verify(answer.read_bytes(), message=message)


def blank_pdf():
    from pyhanko.pdf_utils import generic
    from pyhanko.pdf_utils.writer import PageObject, PdfFileWriter

    document = PdfFileWriter()
    contents = document.add_object(generic.StreamObject(stream_data=b""))
    box = generic.ArrayObject(map(generic.NumberObject, [0, 0, 200, 200]))
    document.insert_page(PageObject(contents=contents, media_box=box))
    blank = io.BytesIO()
    document.write(blank)
    return blank


def use_pyhanko(is_long_term=False):
    from pyhanko.keys import load_cert_from_pemder
    from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
    from pyhanko.pdf_utils.reader import PdfFileReader
    from pyhanko.sign import fields, signers, timestamps
    from pyhanko.sign.validation import validate_pdf_signature
    from pyhanko_certvalidator import ValidationContext

    roots = [load_cert_from_pemder(file) for file in (root_file, certificate_file)]
    # Neither certificate says where revocation lists are; what is embedded are the chains.
    trust = {"trust_roots": roots, "allow_fetching": False, "revocation_mode": "soft-fail"}
    if verb == "stamp":
        long_term = {"embed_validation_info": True, "use_pades_lta": True, "validation_context": ValidationContext(**trust)}
        metadata = signers.PdfSignatureMetadata(
            field_name="Signature", subfilter=fields.SigSeedSubFilter.PADES, **(long_term if is_long_term else {})
        )
        signer = signers.SimpleSigner.load(key_file, certificate_file)
        with answer.open("w+b") as signed:
            stamper = timestamps.HTTPTimeStamper(url)
            signers.sign_pdf(IncrementalPdfFileWriter(blank_pdf()), metadata, signer=signer, timestamper=stamper, output=signed)
    else:
        with answer.open("rb") as signed:
            signature = PdfFileReader(signed).embedded_regular_signatures[0]
            if is_long_term:
                check_long_term(signature, roots)
                return
            context = ValidationContext(**trust)
            status = validate_pdf_signature(signature, context, ts_validation_context=context)
            assert status.bottom_line, status.pretty_print_details()
            assert status.timestamp_validity.valid and status.timestamp_validity.trusted, status.pretty_print_details()


def check_long_term(signature, roots):
    """EN 319 102-1 §5.6.3, with the time-stamp over the document as evidence."""
    import asyncio

    from pyhanko.sign.validation.ades import ades_lta_validation
    from pyhanko.sign.validation.policy_decl import (
        PdfSignatureValidationSpec,
        RevinfoOnlineFetchingRule,
        RevocationInfoGatheringSpec,
        SignatureValidationSpec,
    )
    from pyhanko_certvalidator.context import CertValidationPolicySpec
    from pyhanko_certvalidator.policy_decl import CertRevTrustPolicy, RevocationCheckingPolicy
    from pyhanko_certvalidator.registry import SimpleTrustManager

    revocation = CertRevTrustPolicy(RevocationCheckingPolicy.from_legacy("soft-fail"))
    policy = CertValidationPolicySpec(trust_manager=SimpleTrustManager.build(roots), revinfo_policy=revocation)
    gathering = RevocationInfoGatheringSpec(RevinfoOnlineFetchingRule.LOCAL_ONLY)
    spec = PdfSignatureValidationSpec(SignatureValidationSpec(policy, revinfo_gathering_policy=gathering))
    result = asyncio.run(ades_lta_validation(signature, spec))
    assert result.api_status.bottom_line, result.failure_msg
    assert result.oldest_evidence_record_timestamp is not None, "no time-stamp over the document"
    assert result.signature_timestamp_status.api_status.trusted, "the time-stamp of the signature is not trusted"


def c2pa_credentials():
    """An end-entity certificate below a CA, as C2PA wants it: PEM of the chain, and of the key."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [
        x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Interop"), x509.NameAttribute(NameOID.COMMON_NAME, name)])
        for name in ("Interop", "Interop CA")
    ]
    now = datetime.datetime.now(datetime.timezone.utc)

    def certificate(key, name, extensions):
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(names[1]).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
        builder = builder.not_valid_after(now + datetime.timedelta(days=30))
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(keys[1].public_key()), False)
        return builder.sign(keys[1], hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def usage(sign, certify):
        return x509.KeyUsage(sign, False, False, False, False, certify, certify, False, False)

    own = [
        (x509.BasicConstraints(False, None), True),
        (usage(True, False), True),
        (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), False),
        (x509.SubjectKeyIdentifier.from_public_key(keys[0].public_key()), False),
    ]
    above = [
        (x509.BasicConstraints(True, None), True),
        (usage(False, True), True),
        (x509.SubjectKeyIdentifier.from_public_key(keys[1].public_key()), False),
    ]
    chain = certificate(keys[0], names[0], own) + certificate(keys[1], names[1], above)
    pkcs8 = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return chain.decode(), keys[0].private_bytes(*pkcs8).decode()


def tiny_png():
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def use_c2pa():
    import json

    import c2pa

    if verb == "stamp":
        chain, key = c2pa_credentials()
        signer = c2pa.Signer.from_info(c2pa.C2paSignerInfo("es256", chain.encode(), key.encode(), url))
        source_type = "http://cv.iptc.org/newscodes/digitalsourcetype/digitalCreation"
        manifest = {"claim_generator_info": [{"name": "interop", "version": "1"}], "title": "a picture", "format": "image/png"}
        manifest["assertions"] = [
            {"label": "c2pa.actions.v2", "data": {"actions": [{"action": "c2pa.created", "digitalSourceType": source_type}]}}
        ]
        with answer.open("w+b") as signed:
            c2pa.Builder(json.dumps(manifest)).sign(signer, "image/png", io.BytesIO(tiny_png()), signed)
    else:
        anchors = [{"trust_anchors": pathlib.Path(root_file).read_text(), "trust_kind": "tsa"}]
        context = c2pa.Context(c2pa.Settings.from_json(json.dumps({"version": 1, "trust": {"anchors": anchors}})))
        with answer.open("rb") as signed:
            report = c2pa.Reader("image/png", signed, context=context).json()
        results = json.loads(report)["validation_results"]["activeManifest"]
        said = {kind: [one["code"] for one in results.get(kind, [])] for kind in ("success", "failure", "informational")}
        assert "timeStamp.validated" in said["success"] and "timeStamp.trusted" in said["success"], said
        assert not [code for code in said["failure"] if code != "signingCredential.untrusted"], said


{
    "rfc3161-client": use_rfc3161_client,
    "tsp-client": use_tsp_client,
    "pyHanko": use_pyhanko,
    "pyHanko-LTA": lambda: use_pyhanko(is_long_term=True),
    "c2pa-python": use_c2pa,
}[client]()
