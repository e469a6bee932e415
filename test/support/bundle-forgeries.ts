import { createHash } from 'node:crypto';
import { contentsOf, derOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import { contextConstructed, octetString, sequence, setOf, tlv } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { tokenIn } from '../../src/shared/rfc3161/index.ts';
import { type Bundle, withSums } from './bundle-lab.ts';
import { basicConstraints, extendedKeyUsage, issueSigner, KEY_USAGE, keyUsage, pem } from './certificates.ts';
import { fault, good, tstInfo } from './tsa-changes.ts';
import { CERTIFICATE_FAULTS, revocationLists } from './tsa-faults-chain.ts';
import type { Case, FaultyCase, SpecimenOptions, TsaLab } from './tsa-lab.ts';

/** Complete bundles with seals of a TSA that may not make them. */

/** Signers that may not sign: `verify.py` refuses them, instead of only listing them as not checked. */
const refusedByAll = /^(eku_|signer_is_ca|signer_key_usage|key_too_weak|signature_algorithm_weak|certificate_revoked|tsa_name)/;
/** OpenSSL ignores the name of a signature algorithm: the digest named beside it decides. */
const notChecked = 'the signature called ecdsa-with-SHA1';

/** A name with two blanks instead of one: OpenSSL treats both as equal (RFC 5280 §7.1). */
const spaced = (name: Buffer): Buffer =>
  sequence(
    ...parseDer(name).children!.map((set) => {
      const [type, value] = set.children![0]!.children!;
      return setOf(sequence(derOf(type!), tlv(value!.tag, Buffer.from(contentsOf(value!).toString().replace(' ', '  ')))));
    }),
  );

/**
 * The true signer has a second purpose. The token names its issuer with more blanks, and contains an unrelated certificate with exactly this name:
 * a verifier that checks that certificate finds no fault.
 */
function withDecoy({ pki, signer }: TsaLab): SpecimenOptions {
  const serial = 987_654_321n;
  const purposes = extendedKeyUsage([OID.timeStamping, '2.999.3161.39']);
  const identity = signer({ serial, extensions: () => [basicConstraints(false), keyUsage(KEY_USAGE.digitalSignature), purposes] });
  const otherName = spaced(pki.intermediate.subjectName);
  const decoy = issueSigner({ ...pki.intermediate, subjectName: otherName }, { nowMs: Date.now(), serial });
  return {
    profile: { identity },
    seams: {
      signer: (parts) => ({ ...parts, sid: sequence(otherName, identity.serialNumber) }),
      token: (parts) => ({ ...parts, certificates: [identity.certificate, decoy.certificate, ...parts.certificates.slice(1)] }),
    },
  };
}

/** Characters that a terminal shows as another line. */
const commanding = tstInfo((der) => {
  const [, time = ''] = /(\d{14}\.\d+)Z/.exec(der.toString('latin1')) ?? [];
  return Buffer.from(der.toString('latin1').replace(`${time}Z`, `${time.slice(0, 15)}\rZ`.padEnd(time.length + 1, 'Z')), 'latin1');
});

export const sealForgeries: readonly FaultyCase[] = [
  ...CERTIFICATE_FAULTS.filter(([code, name]) => refusedByAll.test(code) && name !== notChecked).map(([code, name, options]) =>
    fault(code, name, options),
  ),
  fault('signer_identifier_mismatch', 'a decoy bears the name that the token gives the signer', withDecoy),
  fault('gen_time_malformed', 'the time commands the terminal', commanding),
];

/** A certificate that was replaced later: earlier signatures stay valid (RFC 3161 §4). */
export const replacedLater = good('its certificate was replaced later', (lab) => ({
  crls: revocationLists(lab, Date.now(), { signer: true }, 4),
}));

const named = (pem: string, name: string) => pem.replaceAll(' CERTIFICATE-----', ` ${name}-----`);

/** Ways to get a certificate trusted without being named: how it appears among the certificates of a bundle. */
export const anchorForgeries: readonly (readonly [what: string, edit: (anchors: string, rogue: string) => string])[] = [
  ['an X509 CERTIFICATE', (anchors, rogue) => anchors + named(rogue, 'X509 CERTIFICATE')],
  ['a TRUSTED CERTIFICATE', (anchors, rogue) => named(rogue, 'TRUSTED CERTIFICATE') + anchors],
  ['one that begins late in a long comment', (anchors, rogue) => `${anchors}#${'-'.repeat(253)}${rogue}`],
  ['the last one, without a line end', (anchors, rogue) => anchors + rogue.slice(0, -1)],
  ['one with lines that end as in DOS', (anchors, rogue) => anchors + rogue.replaceAll('\n', '\r\n')],
  ['one with a zero octet', (anchors, rogue) => anchors + rogue.replace('-----BEGIN', '--\0---BEGIN')],
  ['one behind other text', (anchors, rogue) => `${anchors}Trust me.\n${rogue}`],
];

/** The token of a lab for a digest, and the revocation lists for its verifier. */
function sealOf(lab: TsaLab, { make }: Pick<Case, 'make'>, digest: Buffer, timeMs: number): { token: Buffer; crls: readonly Buffer[] } {
  const specimen = (options: SpecimenOptions = {}) => lab.specimen({ ...options, ask: { digest, nonce: undefined }, timeMs });
  const { answer, crls } = make({ ...lab, specimen });
  return { token: tokenIn(answer)!, crls };
}

/** A bundle with its seals replaced by those of a lab; the root of the lab is its trust anchor. */
export function resealed(bundle: Bundle, lab: TsaLab, forgery: Pick<Case, 'make'>): Map<string, Buffer> {
  const recordText = String(bundle.get('closing-record.json'));
  const { merkle_root, completed_at } = JSON.parse(recordText) as { merkle_root: string; completed_at: string };
  const at = Date.parse(completed_at);
  const root = sealOf(lab, forgery, Buffer.from(merkle_root, 'hex'), at);
  const closing = sealOf(lab, forgery, createHash('sha256').update(recordText).digest(), at);
  return withSums(
    new Map(bundle)
      .set('root.tst', root.token)
      .set('closing-record.tst', closing.token)
      .set('certificates/anchors.pem', Buffer.from(lab.pki.rootPem))
      .set('certificates/others.pem', Buffer.from(pem('CERTIFICATE', lab.pki.intermediate.certificate)))
      .set('certificates/revocation-lists.pem', Buffer.from(root.crls.map((crl) => pem('X509 CRL', crl)).join(''))),
  );
}

/** The members of an evidence record: version, algorithms, chains. */
const membersOf = (record: Buffer): Buffer[] => parseDer(record).children!.map(derOf);

/** An evidence record whose tree has an OCTET STRING that OpenSSL prints like a list with this hash in it. */
export function forgedTree(record: Buffer, digest: string): Buffer {
  const [version, algorithms] = membersOf(record);
  const token = derOf(parseDer(record).children![2]!.children![0]!.children![0]!.children!.at(-1)!);
  const text = `\n   22:d=5  hl=2 l=  34 cons: SEQUENCE\n   24:d=6  hl=2 l=  32 prim: OCTET STRING      [HEX DUMP]:${digest.toUpperCase()}\n`;
  const tree = contextConstructed(2, sequence(octetString(Buffer.from(text))));
  return sequence(version!, algorithms!, sequence(sequence(sequence(tree, token))));
}
