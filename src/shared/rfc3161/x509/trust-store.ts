import { Refusal, refuse } from '../refusal/refusal.ts';
import { type Certificate, fingerprintOf, parseCertificate } from './certificate.ts';
import { type Chain, findChain, NO_CHAIN } from './chain.ts';
import { isCrlOf, mayBeCrlOf, parseCrl, type RevocationList } from './crl.ts';
import { isSameName } from './name.ts';
import { checkAuthority } from './path-rules.ts';

/** Configured certificates or revocation lists: PEM text with any number of blocks, or a single one in DER. */
type Material = string | Uint8Array;

export interface TrustMaterial {
  readonly anchors: readonly Material[];
  /**
   * Certificates that stand for trust anchors of a name and a key (RFC 5280 §6.1.1 d), such as the services of a trusted list: any certificate with the
   * same subject and key is the anchor. Its validity, extensions and constraints are not judged. A signer needs the right purpose anyway. The
   * certificates given here decide what the key may do: it certifies others only if one of them is that of a CA, and if one is revoked, so is the key.
   */
  readonly namedKeys?: readonly Certificate[];
  /** More certificates for building chains. They are not trusted themselves. */
  readonly intermediates?: readonly Material[];
  readonly crls?: readonly Material[];
  /** Accepts a CA whose extended key usage does not include time-stamping (refusal 41). The default is false. */
  readonly areCaPurposesIgnored?: boolean;
}

/** A set of trust anchors. It caches parsed certificates, chains to an anchor, and valid signatures. */
export interface TrustStore {
  /** Returns true for the certificate of an anchor that is a name and a key. */
  isNamedKey(certificate: Certificate): boolean;
  /** Returns the certificates of anchors that are a name and a key, with the key of this certificate. Their names may differ. */
  namedKeysOf(certificate: Certificate): readonly Certificate[];
  /** SHA-256 of the DER of each anchor, hex. */
  readonly anchorFingerprints: readonly string[];
  /** The anchors and the intermediate certificates. */
  readonly certificates: readonly Certificate[];
  readonly crls: readonly RevocationList[];
  readonly areCaPurposesIgnored: boolean;
  /** Parses a certificate, or takes it from the cache. @throws Refusal `certificate_malformed` */
  certificateOf(der: Buffer): Certificate;
  /**
   * Finds a chain from the signer to an anchor that `accept` permits, and in which each CA may certify the certificate below it. The chain may use
   * certificates from the token.
   *
   * @param embedded the certificates in the token
   * @param accept throws a Refusal for a chain that is not acceptable
   * @throws Refusal if there is no such chain
   */
  chainOf(signer: Certificate, embedded: readonly Certificate[], accept: (chain: Chain) => void): Chain;
  /** Returns true if `noteSignature` was called with this mark (see `signatureMarkOf`), and the mark is still in the cache. */
  knowsSignature(mark: string): boolean;
  /** Records that a signature is valid, and that its signer has a chain to an anchor of this store. */
  noteSignature(mark: string): void;
}

/** The error for configured material that is not a certificate or a revocation list. The message says what is wrong. */
export class TrustMaterialError extends Error {
  override readonly name = 'TrustMaterialError';
}

const MAX_REMEMBERED = 1000;
/**
 * A chain is cached only if the token has at most this many certificates. Honest tokens have fewer. Anyone can add certificates to a token, and so make
 * more and more variants of it.
 */
const MAX_REMEMBERED_EMBEDDED = 16;

/**
 * Makes a trust store from anchors, intermediate certificates and revocation lists. A store without anchors refuses every token.
 *
 * @throws TrustMaterialError if the material cannot be read, or if a list was not signed by its issuer
 */
export function createTrustStore({
  anchors,
  namedKeys = [],
  intermediates = [],
  crls = [],
  areCaPurposesIgnored = false,
}: TrustMaterial): TrustStore {
  const trusted = anchors.flatMap((one) => certificatesIn(one, 'trust anchor'));
  const certificates = [...trusted, ...namedKeys, ...intermediates.flatMap((one) => certificatesIn(one, 'intermediate certificate'))];
  const byKey = Map.groupBy(namedKeys, keyOf);
  const namedKeysOf = (certificate: Certificate) => byKey.get(keyOf(certificate)) ?? [];
  const isNamedKey = (certificate: Certificate) => namedKeysOf(certificate).some(({ subject }) => isSameName(subject, certificate.subject));
  const trustedFingerprints = new Set(trusted.map(({ fingerprint }) => fingerprint));
  const name = 'revocation list';
  const lists = crls.flatMap((one) => blocksOf('X509 CRL', name, one).map((der) => reading(name, () => parseCrl(der))));
  for (const list of lists) {
    // The issuer of a list may be found only in a token. But if its certificate is configured, it must have signed the list.
    // If its algorithm is not known here, the list revokes nothing, but it is no fault.
    const known = certificates.filter((certificate) => isSameName(certificate.subject, list.issuer));
    if (known.length > 0 && !known.some((issuer) => isCrlOf(list, issuer) || mayBeCrlOf(list, issuer))) {
      throw new TrustMaterialError(`The ${name} was not signed by its issuer.`);
    }
  }

  // Only certificates in a chain to an anchor are cached, so that untrusted certificates cannot fill the memory.
  const configured = new Map(certificates.map((certificate) => [certificate.fingerprint, certificate]));
  const met = new Map<string, Certificate>();
  const lastMet = new Map<string, Certificate>();
  const knownChains = new Map<string, Chain>();
  const hopeless = new Map<string, true>();
  const goodSignatures = new Map<string, true>();

  /** Remembers signers without any chain: with hundreds of listed services, a search takes longer than the rest of a verification. */
  const rememberingHopeless = (key: string, search: () => Chain): Chain => {
    try {
      return search();
    } catch (error) {
      if (error instanceof Refusal && error.code === 'untrusted_root') remember(hopeless, key, true);
      throw error;
    }
  };

  return {
    isNamedKey,
    namedKeysOf,
    anchorFingerprints: trusted.map((anchor) => anchor.fingerprint),
    certificates,
    crls: lists,
    areCaPurposesIgnored,
    certificateOf: (der) => {
      const ending = endingOf(der);
      const last = lastMet.get(ending);
      if (last?.der.equals(der)) return last;
      const fingerprint = fingerprintOf(der);
      const known = configured.get(fingerprint) ?? met.get(fingerprint);
      if (known) remember(lastMet, ending, known);
      return known ?? parseCertificate(der);
    },
    chainOf: (signer, embedded, accept) => {
      const key = [signer, ...embedded].map((certificate) => certificate.fingerprint).join();
      const known = knownChains.get(key);
      if (known !== undefined && isAccepted(known, accept)) return known;
      if (trusted.length + namedKeys.length === 0) refuse('trust_store_empty', 'There is no trust anchor.');
      const isAnchor = (certificate: Certificate) => trustedFingerprints.has(certificate.fingerprint) || isNamedKey(certificate);
      const search = () =>
        findChain(signer, [...certificates, ...embedded], isAnchor, (candidate) => {
          checkAuthority(candidate, { areCaPurposesIgnored, isNamedKey, namedKeysOf });
          accept(candidate);
        });
      const isRemembered = embedded.length <= MAX_REMEMBERED_EMBEDDED;
      if (hopeless.has(key)) refuse('untrusted_root', NO_CHAIN);
      const chain = isRemembered ? rememberingHopeless(key, search) : search();
      if (isRemembered) remember(knownChains, key, chain);
      for (const certificate of chain) remember(met, certificate.fingerprint, certificate);
      return chain;
    },
    knowsSignature: (mark) => goodSignatures.has(mark),
    noteSignature: (mark) => remember(goodSignatures, mark, true),
  };
}

/**
 * Returns the store with other revocation lists. Caches and the search for chains stay those of the first store.
 *
 * @param certificates certificates that show who signed the lists. No chain is built with them
 */
export const withRevocationLists = (
  store: TrustStore,
  crls: readonly RevocationList[],
  certificates: readonly Certificate[] = store.certificates,
): TrustStore => ({ ...store, crls, certificates });

/** Reads the certificates in some material. @throws TrustMaterialError if they cannot be read; the message calls a certificate `name` */
export function certificatesIn(material: Material, name = 'certificate'): readonly Certificate[] {
  return blocksOf('CERTIFICATE', name, material).map((der) => reading(name, () => parseCertificate(der)));
}

/** The key of a certificate, as text. */
const keyOf = ({ subjectPublicKeyInfo }: Certificate): string => subjectPublicKeyInfo.toString('latin1');

const ENDING_OCTETS = 16;

/** Returns the last octets of a certificate. They are part of its signature, so they are nearly always unique, and cheaper than a digest. */
const endingOf = (der: Buffer): string => der.toString('latin1', Math.max(0, der.length - ENDING_OCTETS));

/** Returns true if `accept` permits a cached chain this time too. If not, there may be another chain. */
function isAccepted(chain: Chain, accept: (chain: Chain) => void): boolean {
  try {
    accept(chain);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  if (map.size >= MAX_REMEMBERED) {
    const oldest = map.keys().next();
    if (!oldest.done) map.delete(oldest.value);
  }
  map.set(key, value);
}

function reading<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal) throw new TrustMaterialError(`A ${name} cannot be read. ${error.message}`, { cause: error });
    throw error;
  }
}

/** Returns the DER of each PEM block (RFC 7468), or the material itself if it is DER. */
function blocksOf(label: string, name: string, material: Material): readonly Buffer[] {
  const bytes = typeof material === 'string' ? Buffer.from(material, 'utf8') : Buffer.from(material);
  if (bytes[0] === 0x30) return [bytes];
  const text = bytes.toString('latin1');
  const blocks = [...text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----\s*([A-Za-z0-9+/=\s]*?)-----END \1-----/g)];
  if (blocks.length === 0) throw new TrustMaterialError(`A ${name} is neither PEM nor DER.`);
  return blocks.map(([, found, base64 = '']) => {
    if (found !== label) throw new TrustMaterialError(`A ${name} is a PEM block of ${found} instead of ${label}.`);
    return Buffer.from(base64, 'base64');
  });
}
