// @ts-check
import { childrenOf, DerFault, readElement, UnjudgedFault, withTag } from './der.js';
import { sha256 } from './hashes.js';
import { rootOf } from './proof/hash-tree.js';
import { hexOf, isSame } from './proof/octets.js';

const sequence = 0x30;
const integer = 0x02;
const octetString = 0x04;
const oid = 0x06;
const generalizedTime = 0x18;
/** Contents of the OIDs of hash algorithms (RFC 3370, RFC 5754) and of id-ct-TSTInfo (RFC 3161 §2.4.2), hexadecimal. */
const oids = {
  sha256: '608648016503040201',
  sha384: '608648016503040202',
  sha512: '608648016503040203',
  tstInfo: '2a864886f70d0109100104',
};
/** MD2, MD4, MD5 and SHA-1. */
const broken = ['2a864886f70d0202', '2a864886f70d0204', '2a864886f70d0205', '2b0e03021a'];

/** @param {import('./der.js').Element} element */
const only = (element) => childrenOf(element)[0] ?? raise();
/** @returns {never} */
const raise = () => {
  throw new DerFault('something is missing');
};

/** The TSTInfo (RFC 3161 §2.4.2) in a TimeStampToken, a ContentInfo with SignedData (RFC 5652 §5.1). @param {import('./der.js').Element} token */
function tstInfoOf(token) {
  const signedData = only(withTag(childrenOf(token), 0xa0));
  const content = childrenOf(withTag(childrenOf(signedData), sequence));
  if (hexOf(withTag(content, oid).contents) !== oids.tstInfo) throw new DerFault('no time-stamp token');
  return readElement(withTag([only(withTag(content, 0xa0))], octetString).contents);
}

/**
 * Converts a GeneralizedTime, for example `20261121093101.4Z`, to RFC 3339, in milliseconds: browsers misread fractions of more than nine digits.
 * @param {string} text
 */
const timeOf = (text) => text.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)((?:\.\d{1,3})?)\d*Z$/, '$1-$2-$3T$4:$5:$6$7Z');

/** Reads the only element in these bytes. @param {Uint8Array} octets */
function wholeOf(octets) {
  const element = readElement(octets);
  if (element.octets.length !== octets.length) throw new DerFault('more octets follow');
  return element;
}

/** The first ArchiveTimeStamp of an evidence record (RFC 4998 §4.1): its token, and its hash tree if it has one. @param {import('./der.js').Element} record */
function firstTimeStampOf(record) {
  const timeStamp = childrenOf(only(only(childrenOf(record).at(-1) ?? raise())));
  return { token: withTag(timeStamp, sequence), tree: timeStamp.find(({ tag }) => tag === 0xa2) };
}

/** The token in the first ArchiveTimeStamp of an evidence record, in DER. @param {Uint8Array} octets @throws {DerFault} */
export const firstTokenOf = (octets) => firstTimeStampOf(wholeOf(octets)).token.octets;

/**
 * Checks by hashing whether a time-stamp token, or the first token of an evidence record (RFC 4998), is for a digest. It checks neither the signature
 * nor the certificates.
 *
 * @param {Uint8Array} octets
 * @param {Uint8Array} digest the SHA-256 to look for
 * @returns {{ isFor: boolean, genTime: string }} whether the token is for the digest; its genTime, RFC 3339
 * @throws {DerFault} if the bytes are neither a token nor an evidence record, or the algorithm of the imprint is broken
 * @throws {UnjudgedFault} if the bytes are BER, or the algorithm of the imprint is not known here
 */
export function readImprint(octets, digest) {
  const whole = wholeOf(octets);
  const isRecord = only(whole).tag === integer;
  const { token, tree } = isRecord ? firstTimeStampOf(whole) : { token: whole, tree: undefined };
  const members = childrenOf(tstInfoOf(token));
  const imprint = childrenOf(withTag(members, sequence));
  const algorithm = hexOf(only(withTag(imprint, sequence)).contents);
  if (broken.includes(algorithm)) throw new DerFault('the algorithm of its imprint is broken');
  if (algorithm !== oids.sha256 && algorithm !== oids.sha384 && algorithm !== oids.sha512)
    throw new UnjudgedFault('imprint_algorithm_unknown: The hash algorithm of a time-stamp is not known here, so it could not be checked.');
  const hashed = withTag(imprint, octetString).contents;
  const lists = tree ? childrenOf(tree).map((list) => childrenOf(list).map(({ contents }) => contents)) : [[digest]];
  const isFirst = lists[0]?.some((hash) => isSame(hash, digest)) ?? false;
  return {
    isFor: algorithm === oids.sha256 && isFirst && isSame(rootOf(sha256, lists), hashed),
    genTime: timeOf(new TextDecoder().decode(withTag(members, generalizedTime).contents)),
  };
}
