"""Strangers on what a workflow proves: scitt-cose and pymerkle judge Merkle proofs, and COSE headers with their receipts."""

import json
import sys

import cbor2
import pymerkle
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from scitt_cose import cose_sign1, merkle, receipt


def judge_trees(path):
    """Every inclusion proof of each tree, and some of consistency; roots as pymerkle computes them."""
    right = 0
    with open(path, encoding="ascii") as lines:
        for line in lines:
            tree = json.loads(line)
            entries, root, size = tree["entries"], tree["root"], len(tree["entries"])
            assert merkle.merkle_root(entries) == root
            theirs = pymerkle.InmemoryTree(algorithm="sha256")
            for entry in entries:
                theirs.append_entry(bytes.fromhex(entry))
            assert theirs.get_state().hex() == root
            for index, proof in enumerate(tree["paths"]):
                assert merkle.verify_inclusion(entries[index], index, size, proof, root)
                assert not merkle.verify_inclusion(entries[index], index, size, [*proof, root], root)
                right += 1
            for first, first_root, proof in tree["consistency"]:
                assert merkle.verify_consistency(first_root, root, first, size, proof)
                right += 1
    print(right)


def judge_headers(headers_file, content_file, key_file, token_file, leaf):
    """Makes a COSE_Sign1 over the content with these headers, verifies it and the receipt in it, and writes the token out."""
    content = open(content_file, "rb").read()
    protected, unprotected = cbor2.loads(open(headers_file, "rb").read())
    protected = cbor2.loads(protected)
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    message = cose_sign1.sign_sign1(content, alg="EdDSA", private_key_pem=pem, protected=dict(protected), unprotected=dict(unprotected))
    signed = cose_sign1.verify_sign1(message, public_key_pem=public)
    assert signed.payload == content
    open(token_file, "wb").write(signed.protected[269])
    (given,) = signed.unprotected[394]
    log_key = open(key_file, "rb").read()
    verdict = receipt.verify_receipt(given, leaf_entry_hex=leaf, log_public_key_pem=log_key)
    assert verdict.ok, verdict.errors
    other = leaf[:-1] + ("0" if leaf[-1] != "0" else "1")
    assert not receipt.verify_receipt(given, leaf_entry_hex=other, log_public_key_pem=log_key).ok
    print(json.dumps({"tree_size": verdict.tree_size, "leaf_index": verdict.leaf_index, "root": verdict.root}))


{"trees": judge_trees, "headers": judge_headers}[sys.argv[1]](*sys.argv[2:])
