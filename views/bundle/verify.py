#!/usr/bin/env python3
"""Checks the evidence bundle in this folder. It works offline, and needs Python 3.8 and OpenSSL 3.

    python3 -I verify.py [--ca FILE] [FILE ...]         the bundle, and which output each FILE is
    python3 -I verify.py --ca FILE --stamp STAMP FILE   one time-stamp token or evidence record, and its file

--ca FILE  PEM of the certificates that you trust. Without it the script uses those in the bundle. The maker of the bundle
           chose them: compare their fingerprints with those that the time-stamping authority publishes.

Exit 0: everything checked holds. 1: it does not hold, or has no time-stamp of an authority (stamps of the mock provider).
2: it could not be checked. 3: it holds if you trust the certificates in the bundle.

OpenSSL checks the signature, that it names its signer's certificate, and that strong keys lead from there to a trusted
certificate. This script checks everything else, and lists under NOT CHECKED what it does not check."""
import sys
if not sys.flags.isolated: del sys.path[0]  # do not import other files of this folder
import argparse, base64, hashlib, json, os, re, subprocess, tempfile, time
from collections import namedtuple
from datetime import datetime, timezone

class DoesNotHold(Exception): pass
class CannotCheck(Exception): pass

HERE = os.path.dirname(os.path.abspath(__file__))
listed, unchecked = {}, []  # the SHA-256 of each file in SHA256SUMS; why a time-stamp could not be checked
not_checked = ["output types, stamp ids, README.txt, this script, and files that are not listed: no signature covers them",
               "revocation by lists that are not in this bundle, and who signed those that are in it",
               "policies and purposes of certification authorities, curves of keys, names of signature algorithms",
               "fields of time-stamps other than hash, time and signer: versions, attributes, accuracy, extensions"]

RECORDS = "renewals of evidence records, whether one was due, and members beside hash tree and token: qstamp verify checks them"

def check_bundle(ca, files):
    """Checks the whole bundle. Returns the proved statement, and the trusted certificates."""
    check_sums()
    record = closing_record(part("closing-record.json"))
    print(f"workflow {record['workflow_id']}, tier {record['tier']}, outputs: {record['output_count']}")
    print(f"started {record['created_at']}, link opened {record['confirmed_at'] or 'never'}, completed {record['completed_at']}")
    outputs, levels = check_chain(record)
    require(sha256(part("root.bin")).hex() == record["merkle_root"], "the SHA-256 of root.bin is not the Merkle root")
    print(f"ok: the outputs are the chain of the closing record, and lead to its Merkle root {record['merkle_root']}")
    check_outputs(outputs, levels)
    trusted = pem_in(read(ca) if ca else part("certificates/anchors.pem"))
    others = [der for name in ("anchors", "others") for der in pem_in(part(f"certificates/{name}.pem"))]
    lists = [revocation_list_of(der) for der in pem_in(part("certificates/revocation-lists.pem"), b"X509 CRL")]
    times = dict.fromkeys(("root", "closing-record"), record["completed_at"])
    for name, digest in (("root", sha256(part("root.bin"))), ("closing-record", sha256(part("closing-record.json")))):
        what, stamp = f"the time-stamp of {name}", f"{name}.ers" if f"{name}.ers" in listed else f"{name}.tst"
        require(f"{name}.tst" in listed, f"no authority confirms it: this bundle has no time-stamp of {name}")
        token = tried(unchecked, opened, part(stamp), {"sha256": digest}, what)
        if not token: continue
        require(token.octets == part(f"{name}.tst"), f"{name}.tst is not the token in {name}.ers")
        times[name] = token.time
        if tried(unchecked, judge, token, what, trusted, others, lists): print(f"ok: {what} is of {token.time}")
    require(times["root"] == record["completed_at"], "the root was not stamped at the recorded time")
    require(times["root"][:19] <= times["closing-record"][:19], "the closing record was stamped before the root")
    are_found = [tell(path, sha256(read(path)), outputs, record["briefing_hash"]) for path in files]
    require(all(are_found), "not every file is an output of this workflow, or its briefing")
    if unchecked: raise CannotCheck(unchecked[0])  # only now, because a fault counts more
    return f"these {len(outputs)} outputs, in this order, existed at {times['root']}", trusted

def tell(path, digest, outputs, briefing):
    told = [f"output {number}" for number, output in enumerate(outputs, 1) if output == digest]
    if digest.hex() == briefing: told.append("the briefing: the task of the agent")
    print(f"{shown(path)} is {' and '.join(told) or 'NO OUTPUT of this workflow, and not its briefing'}")
    return told != []

def check_stamp(ca, stamp, path=None, *others):
    if not ca or not path or others: raise CannotCheck("--stamp needs one file, and --ca with the certificates that you trust")
    token = opened(read(stamp), {name: hashlib.new(name, read(path)).digest() for name in HASHES.values()}, shown(stamp))
    return f"{shown(path)} existed at {judge(token, shown(stamp), pem_in(read(ca)))}", pem_in(read(ca))

PARTS = re.compile(r"README\.txt|verify\.py|closing-record\.(json|tst|ers)|root\.(bin|tst|ers)|outputs\.txt"
                   r"|(proofs|stamps)/[0-9]+\.txt|certificates/(anchors|others|revocation-lists)\.pem")

def check_sums():
    """Checks that each file in SHA256SUMS has the listed hash, and belongs to a bundle."""
    for line in lines_in(read(os.path.join(HERE, "SHA256SUMS")), "SHA256SUMS"):
        digest, name = line[:64], line[66:]
        require(PARTS.fullmatch(name) and name not in listed, f"SHA256SUMS lists {shown(name)}, which is not a file of a bundle")
        listed[name] = digest
        require(sha256(part(name)).hex() == digest, f"{name} is not the file that SHA256SUMS lists")
    require(list(listed)[:3] == ["README.txt", "verify.py", "closing-record.json"], "SHA256SUMS does not begin with the right files")
    print("ok: each file in SHA256SUMS has the listed hash")

def part(name):
    require(name in listed, f"{name} is missing, or SHA256SUMS does not list it")
    return read(os.path.join(HERE, name))

def lines_of(name): return [line.split(" ") for line in lines_in(part(name), name)]

def lines_in(octets, name):
    require(octets == b"" or octets[-1:] == b"\n", f"{name} does not end with a line")
    return octets.decode("latin-1").split("\n")[:-1]

HASH, TIME = '"[0-9a-f]{64}"', '"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z"'
MEMBERS = {"agent_commitment": f"{HASH}|null", "briefing_hash": HASH, "chain_hash": HASH, "completed_at": TIME,
           "confirmed_at": f"{TIME}|null", "created_at": TIME, "email_commitment": f"{HASH}|null", "format": '"qstamp-closing-record/1"',
           "merkle_root": HASH, "output_count": "0|[1-9][0-9]{0,8}", "tier": '"(standard|verified|qualified)"',
           "workflow_id": '"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"'}

def closing_record(octets):
    """Reads canonical JSON (RFC 8785): these members, in this order, in only one form."""
    form = ",".join(f'"{name}":({value})' for name, value in MEMBERS.items())
    require(re.fullmatch("{%s}" % form, octets.decode("latin-1")), "closing-record.json is not a closing record in canonical form")
    record = json.loads(octets)
    for name in ("created_at", "confirmed_at", "completed_at"): datetime.fromisoformat((record[name] or "2000-01-01Z")[:-1])
    return record

# ---- The outputs: their chain, their Merkle tree (RFC 9162), their own time-stamps
def check_chain(record):
    """Recomputes chain and tree from the outputs. Returns their hashes, and the levels of the tree, leaves first."""
    outputs, end = [], bytes.fromhex(record["briefing_hash"])
    for number, line in enumerate(lines_of("outputs.txt"), 1):
        is_next = len(line) == 5 and line[0] == str(number) and re.fullmatch("[0-9a-f]{64}", line[1])
        require(is_next, f"output {number} is missing, or in the wrong place")
        outputs.append(bytes.fromhex(line[1]))
        end = sha256(end, outputs[-1], number.to_bytes(8, "big"))
        require(end.hex() == line[2], f"the chain breaks at output {number}")
    levels = [[sha256(b"\0", output) for output in outputs]]
    while len(levels[-1]) > 1: levels.append(parents(levels[-1]))
    root = levels[-1][0] if outputs else sha256()
    require(len(outputs) == record["output_count"], "the closing record has a different number of outputs than outputs.txt")
    require(end.hex() == record["chain_hash"], "the chain ends with a different hash than the closing record says")
    require(root.hex() == record["merkle_root"], "the Merkle root of the outputs is not that of the closing record")
    return outputs, levels

def parents(nodes):  # the level above: pairs from the left; a node without a partner moves up (RFC 9162, section 2.1.1)
    return [sha256(b"\1", *nodes[at:at + 2]) if at + 1 < len(nodes) else nodes[at] for at in range(0, len(nodes), 2)]

def path_of(number, levels):  # the inclusion path of an output: its sibling on each level
    siblings = [(level, (number - 1 >> height) ^ 1) for height, level in enumerate(levels)]
    return [level[place].hex() for level, place in siblings if place < len(level)]

def check_outputs(outputs, levels):
    """Checks the inclusion proof of each output, and that its own time-stamp is for it."""
    stamped = 0
    for number, output in enumerate(outputs, 1):
        place = (number - 1) % 1000
        if place == 0: proofs, stamps = (lines_of(f"{name}/{number}.txt") for name in ("proofs", "stamps"))
        is_there = len(proofs) == len(stamps) == min(1000, len(outputs) - (number - 1 - place))
        require(is_there and proofs[place][0] == stamps[place][0] == str(number), f"the proof or stamp of output {number} is missing")
        kind, *stamp = stamps[place][1:]
        require(proofs[place][1:] == path_of(number, levels), f"the inclusion proof of output {number} leads elsewhere")
        what = f"the own time-stamp of output {number}"
        require((kind, len(stamp)) in (("none", 0), ("token", 1), ("record", 1)), f"{what} is of an unknown kind")
        if stamp: tried(not_checked, opened, base64.b64decode(stamp[0], validate=True), {"sha256": output}, what)
        stamped += len(stamp)
    blocks = sum(name.startswith(("proofs/", "stamps/")) for name in listed)
    require(blocks == 2 * -(-len(outputs) // 1000), "there are proofs or stamps of more outputs than there are")
    print(f"ok: the inclusion proofs of {len(outputs)} outputs; {stamped} own time-stamps are for these outputs")
    for count, why in ((stamped, "who signed them: qstamp verify checks that"), (len(outputs) - stamped, "there is none in this bundle")):
        if count: not_checked.append(f"own time-stamps of outputs ({count}): {why}")

# ---- Time-stamps (RFC 3161) and evidence records (RFC 4998), judged at their own time
def tried(noted, check, *arguments):  # the result of a check; if it cannot check, its reason is noted
    try: return check(*arguments)
    except CannotCheck as fault: noted.append(str(fault))

def judge(token, what, trusted, others=(), lists=()):
    """Finds the signer of a token and checks that it may sign time-stamps. Returns the time. `others` help to find its issuers."""
    if not trusted: raise CannotCheck("no certificate is trusted: give one with --ca, in PEM")
    require(token.moment.timestamp() < time.time() + 60, f"{what} is in the future")
    known = [certificate_of(der) for der in dict.fromkeys([*token.certificates, *others, *trusted])]
    candidates = [each for each in known if [each.issuer, each.serial] == token.signer]
    require(len(candidates) == 1, f"{what} does not contain the certificate of its signer, or contains it twice")
    check_signer(candidates[0], token, what)
    for one in candidates:  # the loop adds possible issuers, up to trusted ones: OpenSSL decides whether they issued it
        if one.der not in trusted:
            candidates += [each for each in known if each.subject == one.issuer]
            known = [each for each in known if each.subject != one.issuer]
        for since, reason in [revoked[one.serial] for issuer, revoked in lists if issuer == one.issuer and one.serial in revoked]:
            require(since > token.moment and reason in KEY_WAS_KEPT, f"{what} depends on a revoked certificate")
    helpers = [candidates[0].der, *others, *trusted]  # OpenSSL also takes the first match as the signer
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("token", "trusted", "helpers")]
        for path, content in zip(paths, (token.octets, pem_of(trusted), pem_of(helpers))):
            with open(path, "wb") as file: file.write(content)
        code, said = openssl("ts", "-verify", "-token_in", "-in", paths[0], "-digest", token.imprint.hex(), "-CAfile", paths[1],
                             "-untrusted", paths[2], "-partial_chain", "-auth_level", "2", "-attime", str(int(token.moment.timestamp())))
    why = "; ".join(" ".join(each).strip() for each in re.findall(r"(?m)^\w+:error:\w+:([^:]*):[^:]*:([^:]*):[^:]*:\d+:(.*)", said))
    # openssl ts cannot check RSA-PSS by a usual RSA key, and no keys but these: it calls each such signature a failure
    is_known = candidates[0].key in (EC, RSA_PSS) or candidates[0].key == RSA and token.signature != RSA_PSS
    if code and (not is_known if "signature failure" in why else UNKNOWN.search(why)):
        raise CannotCheck(f"OpenSSL of this machine cannot read {what}, or an algorithm in it: {shown(why)}")
    require(code == 0 and "Verification: OK" in said, f"{what} does not verify: {shown(why or said)}")
    if token.policy == DEVELOPMENT_POLICY: print(f"{what}: development time-stamp, for trials: the operator holds the key")
    return token.time

def check_signer(certificate, token, what):
    """RFC 3161, section 2.3. OpenSSL checks that the purpose is critical, and the allowed use of the key."""
    hash_name(token.signature_hash, what)
    purposes, constraints = ([each.contents for one in elements(certificate.extensions.get(name, b"")) for each in inside(one)]
                             for name in (EXTENDED_KEY_USAGE, BASIC_CONSTRAINTS))
    require(purposes == [TIME_STAMPING], f"the signer's certificate of {what} is not only for time-stamping")
    require(constraints in ([], [b"\0"]), f"the signer of {what} is a certification authority")

def opened(stamp, digests, what):
    """The token in a time-stamp or evidence record. It must be for the digest of its algorithm."""
    try: octets, lists = unpacked(stamp); token = token_of(octets)
    except (ValueError, IndexError): raise DoesNotHold(f"{what} is not a time-stamp token, or has extra octets after it")
    algorithm = hash_name(token.algorithm, what)
    root = digest = digests.get(algorithm)
    for place, hashes in enumerate(lists):  # RFC 4998, section 4.3: each list is hashed with the hash of those before
        require(place > 0 or digest in hashes, f"{what} is for another hash: its hash tree does not contain this one")
        together = sorted([root, *hashes] if place > 0 else hashes)
        root = together[0] if len(together) == 1 else hashlib.new(algorithm, b"".join(together)).digest()
    require(root == token.imprint, f"{what} is for another hash")
    return token

def unpacked(stamp):
    """The token in a stamp. For an evidence record: its first token, and the lists of its hash tree."""
    (outer,) = elements(stamp)
    version, *others = inside(outer)
    if version.tag != 2: return stamp, []
    if RECORDS not in not_checked: not_checked.append(RECORDS)
    *members, token = inside(inside(inside(others[-1])[0])[0])
    lists = [each for member in members if member.tag == 0xa2 for each in elements(member.contents)]
    return token.whole, [[each.contents for each in inside(one)] for one in lists]

# ---- The parts of tokens, certificates and revocation lists that matter here: DER (X.690)
Element = namedtuple("Element", "tag contents whole")
Token = namedtuple("Token", "octets policy algorithm imprint moment time certificates signer signature_hash signature")
Certificate = namedtuple("Certificate", "der serial issuer subject key extensions")
EXTENDED_KEY_USAGE, BASIC_CONSTRAINTS, REASON, INVALID_SINCE = (bytes([0x55, 29, n]) for n in (37, 19, 21, 24))  # 2.5.29.n
TIME_STAMPING = bytes.fromhex("2b06010505070308")  # 1.3.6.1.5.5.7.3.8
DEVELOPMENT_POLICY = bytes.fromhex("8837985901")  # 2.999.3161.1
KEY_WAS_KEPT = 0, 3, 4, 5  # reasons of revocation that leave older signatures valid (RFC 3161, section 4)
RSA, RSA_PSS, EC = map(bytes.fromhex, ("2a864886f70d010101", "2a864886f70d01010a", "2a8648ce3d0201"))  # RFC 8017, RFC 5480
BROKEN = [*map(bytes.fromhex, ("2a864886f70d0202", "2a864886f70d0204", "2a864886f70d0205", "2b0e03021a"))]  # MD2, MD4, MD5, SHA-1
UNKNOWN = re.compile(r"asn1 encoding routines|decode error|not supported for|(unsupported|unknown)( \w+)* (algorithm|type|digest|nid)")
HASHES = {bytes.fromhex(f"60864801650304020{n}"): f"sha{size}" for n, size in ((1, 256), (2, 384), (3, 512))}  # 2.16.840.1.101.3.4.2.n

def hash_name(identifier, what):
    if identifier in BROKEN: raise DoesNotHold(f"{what} uses a hash algorithm that is broken")
    if identifier not in HASHES: raise CannotCheck(f"{what} uses a hash algorithm that this script does not know")
    return HASHES[identifier]

def elements(octets):
    """A sequence of elements. ValueError or IndexError: the octets are something else."""
    found, at = [], 0
    while at < len(octets):
        length, start = octets[at + 1], at + 2
        if length == 0x80 or octets[at] == 0x24: raise CannotCheck("a part is in BER and not in DER: qstamp verify can read it")
        if length > 0x80:
            start += length - 0x80
            length = int.from_bytes(octets[at + 2:start], "big")
        if start + length > len(octets): raise ValueError
        found.append(Element(octets[at], octets[start:start + length], octets[at:start + length]))
        at = start + length
    return found

def inside(element, tag=0x30):
    if element.tag != tag: raise ValueError
    return elements(element.contents)

def token_of(octets):
    """A TimeStampToken (RFC 3161, section 2.4.2; RFC 5652, section 5): its statements and its signer."""
    (content_info,) = elements(octets)
    (signed_data,) = inside(inside(content_info)[1], 0xa0)
    _, _, content, *sets, signers = inside(signed_data)
    (tst_info,) = elements(inside(inside(content)[1], 0xa0)[0].contents)
    _, policy, imprint, _, gen_time, *_ = inside(tst_info)
    algorithm, digest = inside(imprint)
    (signer,) = inside(signers, 0x31)
    _, identifier, hash_algorithm, *others = inside(signer)
    (signature,) = [inside(each)[0].contents for each in others if each.tag == 0x30]
    certificates = [each.whole for one in sets if one.tag == 0xa0 for each in elements(one.contents) if each.tag == 0x30]
    moment, fraction = moment_of(gen_time), (gen_time.contents[15:-1].decode("ascii") + "000")[:3]  # milliseconds
    issuer, serial = inside(identifier)
    return Token(octets, policy.contents, inside(algorithm)[0].contents, digest.contents, moment, f"{moment:%Y-%m-%dT%H:%M:%S}.{fraction}Z",
                 certificates, [folded(issuer), serial.whole], inside(hash_algorithm)[0].contents, signature)

def certificate_of(der):  # RFC 5280, section 4.1
    serial, _, issuer, _, subject, key, *others = [each for each in inside(inside(elements(der)[0])[0]) if each.tag != 0xa0]
    extensions = [inside(each) for one in others if one.tag == 0xa3 for each in inside(elements(one.contents)[0])]
    values = {name.contents: value.contents for name, *_, value in extensions}
    return Certificate(der, serial.whole, folded(issuer), folded(subject), inside(inside(key)[0])[0].contents, values)

def revocation_list_of(der):
    """RFC 5280, section 5.1: the issuer, and the revoked serial numbers with time and reason."""
    _, issuer, _, *others = [each for each in inside(inside(elements(der)[0])[0]) if each.tag != 2]
    revoked = {}
    for serial, since, *more in [inside(entry) for one in others if one.tag == 0x30 for entry in elements(one.contents)]:
        told = {name.contents: elements(value.contents)[0] for one in more for name, *_, value in map(inside, inside(one))}
        reason = told[REASON].contents[-1] if REASON in told else None
        revoked[serial.whole] = min(moment_of(since), moment_of(told.get(INVALID_SINCE, since))), reason
    return folded(issuer), revoked

def folded(name): return name.whole.lower().replace(b"\x13", b"\x0c")  # case and string type do not matter: RFC 5280, section 7.1

def moment_of(element):
    text = ("" if element.tag == 0x18 else "20") + element.contents.decode("ascii")  # GeneralizedTime, or UTCTime
    if not re.fullmatch(r"[0-9]{14}([.][0-9]*[1-9])?Z", text): raise ValueError("a time has a wrong form")
    return datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(tzinfo=timezone.utc)

# ---- Files, OpenSSL, and output
def require(is_so, sentence):
    if not is_so: raise DoesNotHold(sentence)

def sha256(*parts): return hashlib.sha256(b"".join(parts)).digest()

def read(path):
    if not os.path.isfile(path): raise CannotCheck(f"{shown(path)} is missing, or not a file")  # to read a pipe or device may never end
    with open(path, "rb") as file: return file.read()

def pem_of(ders):
    return b"".join(b"-----BEGIN CERTIFICATE-----\n%b-----END CERTIFICATE-----\n" % base64.encodebytes(der) for der in ders)

def pem_in(octets, label=b"CERTIFICATE"):
    return [base64.b64decode(each) for each in re.findall(b"-----BEGIN %b-----([^-]+)-----END %b-----" % (label, label), octets)]

def openssl(*arguments, given=b""):
    """Its exit code and output. It ignores the settings of this machine, because they may load a library."""
    run = subprocess.run(["openssl", *arguments], input=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         env={**os.environ, "OPENSSL_CONF": os.devnull})
    return run.returncode, run.stdout.decode("ascii", "replace")

def shown(text):  # foreign text in quotes, so that it cannot look like a line of this script
    return ascii(" ".join(text[:300].split()))

def main():
    if sys.argv[1:] in (["--help"], ["-h"]): print(__doc__); return 0  # alone, so that no name of a file can skip the checks
    parser = argparse.ArgumentParser(usage=__doc__, allow_abbrev=False, add_help=False)
    for option in ("--ca", "--stamp"): parser.add_argument(option)
    given, files = parser.parse_known_args()  # every argument that is not an option names a file
    files = [each for each in files if each != "--"]
    try:
        if sys.version_info < (3, 8) or not re.match(r"OpenSSL ([3-9]|\d\d)\.", openssl("version")[1]):
            raise CannotCheck("this script needs Python 3.8 and OpenSSL 3, or newer ones")
        proved, trusted = check_stamp(given.ca, given.stamp, *files) if given.stamp else check_bundle(given.ca, files)
    except DoesNotHold as fault: print(f"DOES NOT HOLD: {fault}"); return 1
    except (CannotCheck, OSError, MemoryError) as fault: print(f"COULD NOT CHECK: {ascii(str(fault))[1:-1]}"); return 2
    except Exception as fault: print(f"DOES NOT HOLD: a file is malformed: {type(fault).__name__} {ascii(str(fault))}"); return 1
    for each in not_checked: print(f"NOT CHECKED: {each}")
    for der in trusted:
        subject = openssl("x509", "-inform", "DER", "-noout", "-subject", "-nameopt", "RFC2253", given=der)[1]
        print(f"trusted, as {'you say' if given.ca else 'this bundle says'}: {shown(subject)}, SHA-256 {sha256(der).hex(':').upper()}")
    print(f"HOLDS: {proved}" if given.ca else f"HOLDS IF YOU TRUST the certificates listed above: {proved}")
    return 0 if given.ca else 3

sys.exit(main())
