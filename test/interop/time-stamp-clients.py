"""Drives time-stamp clients of PyPI: <client> stamp|verify <address of the TSA> <root, PEM> <key, PEM> <certificate, PEM>."""

import io
import pathlib
import sys
import urllib.request

from cryptography.x509 import load_pem_x509_certificate

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


def use_pyhanko():
    from pyhanko.keys import load_cert_from_pemder
    from pyhanko.pdf_utils import generic
    from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
    from pyhanko.pdf_utils.reader import PdfFileReader
    from pyhanko.pdf_utils.writer import PageObject, PdfFileWriter
    from pyhanko.sign import fields, signers, timestamps
    from pyhanko.sign.validation import validate_pdf_signature
    from pyhanko_certvalidator import ValidationContext

    if verb == "stamp":
        document = PdfFileWriter()
        contents = document.add_object(generic.StreamObject(stream_data=b""))
        box = generic.ArrayObject(map(generic.NumberObject, [0, 0, 200, 200]))
        document.insert_page(PageObject(contents=contents, media_box=box))
        blank = io.BytesIO()
        document.write(blank)
        metadata = signers.PdfSignatureMetadata(field_name="Signature", subfilter=fields.SigSeedSubFilter.PADES)
        signer = signers.SimpleSigner.load(key_file, certificate_file)
        with answer.open("wb") as signed:
            stamper = timestamps.HTTPTimeStamper(url)
            signers.sign_pdf(IncrementalPdfFileWriter(blank), metadata, signer=signer, timestamper=stamper, output=signed)
    else:
        roots = [load_cert_from_pemder(file) for file in (root_file, certificate_file)]
        context = ValidationContext(trust_roots=roots, allow_fetching=False)
        with answer.open("rb") as signed:
            signature = PdfFileReader(signed).embedded_signatures[0]
            status = validate_pdf_signature(signature, context, ts_validation_context=context)
            assert status.bottom_line, status.pretty_print_details()
            assert status.timestamp_validity.valid and status.timestamp_validity.trusted, status.pretty_print_details()


{"rfc3161-client": use_rfc3161_client, "tsp-client": use_tsp_client, "pyHanko": use_pyhanko}[client]()
