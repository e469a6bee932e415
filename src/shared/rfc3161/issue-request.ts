import { objectIdentifier } from './der-writer.ts';
import { FAIL_INFO } from './issue-encode.ts';
import { OID } from './oids.ts';

/** What a TSA takes from a TimeStampReq (RFC 3161 §2.4.1). */
export interface IssueRequest {
  /** `algorithm` is the DER AlgorithmIdentifier as it was sent: the token repeats it byte for byte. */
  imprint: { algorithm: Buffer; digest: Buffer };
  policy?: string | undefined;
  nonce?: bigint | undefined;
  certReq: boolean;
}

export type ReadIssueRequest = { ok: true; request: IssueRequest } | { ok: false; failInfo: number; detail: string };

/** Digests that may be stamped. SHA-1 and MD5 are not among them: collisions would make a stamp worthless. */
const IMPRINT_DIGESTS = [
  { oid: objectIdentifier(OID.sha256), octets: 32 },
  { oid: objectIdentifier(OID.sha384), octets: 48 },
  { oid: objectIdentifier(OID.sha512), octets: 64 },
];

const MAX_NONCE_OCTETS = 64;

class Refusal extends Error {
  readonly failInfo: keyof typeof FAIL_INFO;

  constructor(failInfo: keyof typeof FAIL_INFO, detail: string) {
    super(detail);
    this.failInfo = failInfo;
  }
}

/** Reads the DER of a TimeStampReq, or says with which PKIFailureInfo bit it is rejected (RFC 3161 §2.4.2). Never throws. */
export function readIssueRequest(der: Buffer, policies: readonly string[]): ReadIssueRequest {
  try {
    return { ok: true, request: parse(der, policies) };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, failInfo: FAIL_INFO[error.failInfo], detail: error.message };
    throw error;
  }
}

function parse(der: Buffer, policies: readonly string[]): IssueRequest {
  const outer = reader(der);
  const fields = reader(outer.take(0x30, 'TimeStampReq').value);
  outer.end();

  if (!fields.take(0x02, 'version').value.equals(Buffer.from([1]))) throw new Refusal('badRequest', 'Only version 1 requests are known.');
  const imprint = parseImprint(fields.take(0x30, 'messageImprint').value);
  const reqPolicy = fields.optional(0x06);
  const nonce = fields.optional(0x02)?.value;
  const certReq = fields.optional(0x01)?.value;
  const extensions = fields.optional(0xa0);
  fields.end();

  if (extensions !== undefined) throw new Refusal('unacceptedExtension', 'No request extension is supported.');
  if (nonce !== undefined && !isMinimalInteger(nonce))
    throw new Refusal('badDataFormat', 'The nonce is not a DER INTEGER of at most 64 octets.');
  if (certReq !== undefined && certReq.length !== 1) throw new Refusal('badDataFormat', 'certReq is not a BOOLEAN.');
  const policy = reqPolicy === undefined ? undefined : policies.find((known) => objectIdentifier(known).equals(reqPolicy.der));
  if (reqPolicy !== undefined && policy === undefined) throw new Refusal('unacceptedPolicy', 'The requested policy is not offered.');
  return {
    imprint,
    policy,
    nonce: nonce === undefined ? undefined : BigInt.asIntN(nonce.length * 8, BigInt(`0x${nonce.toString('hex')}`)),
    certReq: certReq !== undefined && certReq[0] !== 0,
  };
}

function parseImprint(der: Buffer): IssueRequest['imprint'] {
  const fields = reader(der);
  const algorithm = fields.take(0x30, 'hashAlgorithm');
  const digest = fields.take(0x04, 'hashedMessage').value;
  fields.end();

  const identifier = reader(algorithm.value);
  const oid = identifier.take(0x06, 'algorithm');
  const known = IMPRINT_DIGESTS.find((entry) => entry.oid.equals(oid.der));
  if (known === undefined) throw new Refusal('badAlg', 'The digest algorithm is not accepted.');
  const parameters = identifier.optional(0x05);
  if (!identifier.atEnd() || (parameters !== undefined && parameters.value.length > 0)) {
    throw new Refusal('badAlg', 'The digest algorithm takes no parameters.');
  }
  if (digest.length !== known.octets) throw new Refusal('badDataFormat', 'The digest does not have the length of its algorithm.');
  return { algorithm: algorithm.der, digest };
}

function isMinimalInteger(value: Buffer): boolean {
  const [first, second] = value;
  if (first === undefined || value.length > MAX_NONCE_OCTETS) return false;
  return second === undefined || !((first === 0x00 && second < 0x80) || (first === 0xff && second >= 0x80));
}

interface Element {
  der: Buffer;
  value: Buffer;
}

/** Walks the elements of one DER value. */
function reader(der: Buffer) {
  let offset = 0;

  const next = (): Element => {
    const malformed = () => new Refusal('badDataFormat', 'The request is not well-formed DER.');
    const start = offset;
    const first = der[start + 1];
    if (first === undefined) throw malformed();
    let length = first;
    let header = 2;
    if (first >= 0x80) {
      const octets = first & 0x7f;
      if (octets === 0 || octets > 3 || start + 2 + octets > der.length) throw malformed();
      length = der.readUIntBE(start + 2, octets);
      header += octets;
      if (length < 0x80 || length < 2 ** (8 * (octets - 1))) throw malformed();
    }
    const end = start + header + length;
    if (end > der.length) throw malformed();
    offset = end;
    return { der: der.subarray(start, end), value: der.subarray(start + header, end) };
  };

  return {
    optional: (tag: number): Element | undefined => (der[offset] === tag ? next() : undefined),
    take(tag: number, name: string): Element {
      if (der[offset] !== tag) throw new Refusal('badDataFormat', `${name} is missing or of another type.`);
      return next();
    },
    atEnd: () => offset === der.length,
    end() {
      if (offset !== der.length) throw new Refusal('badDataFormat', 'The request has more than its fields.');
    },
  };
}
