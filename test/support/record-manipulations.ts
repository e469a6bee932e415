import { createHash, randomBytes, randomInt } from 'node:crypto';
import { derOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import { readEvidenceRecord } from '../../src/shared/rfc3161/ers/record.ts';
import {
  buildHashTree,
  der,
  encodeEvidenceRecord,
  encodeRequest,
  issueResponse,
  type MessageImprint,
  type ReducedHashtree,
  renewalImprintOf,
  renewEvidenceRecord,
  type SigningIdentity,
  type TsaProfile,
  tokenIn,
} from '../../src/shared/rfc3161/index.ts';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import { berOf } from './ber-forms.ts';
import { sha256 } from './requests.ts';
import { tsaPolicy } from './tsa-service.ts';

/** A record, the hash claimed for it, and the allowed refusal codes. */
export interface Manipulated {
  readonly record: Buffer;
  readonly hash: string;
  /** Hashes of the file in more algorithms. */
  readonly hashes?: readonly string[];
  readonly codes: RegExp;
}

interface Batch {
  readonly digests: readonly Buffer[];
  readonly token: Buffer;
  readonly treeOf: (index: number) => ReducedHashtree;
}

const some = (count: number) => Array.from({ length: count }, () => randomBytes(32));
const concatenated = (...hashes: readonly Buffer[]): Buffer => Buffer.from(sha256(Buffer.concat(hashes)), 'hex');

/** Ways to turn a record of a batch into one that proves nothing; each call makes another one. */
export function recordManipulations(identity: SigningIdentity) {
  const sign = (root: Buffer): Buffer => signImprint({ algorithm: 'sha256', digest: root });
  function signImprint(imprint: MessageImprint): Buffer {
    const request = encodeRequest({ imprint, nonce: randomBytes(16) });
    const profile: TsaProfile = { identity, policies: [tsaPolicy], accuracy: { seconds: 1 } };
    return tokenIn(issueResponse(profile, request, { timeMs: Date.now(), serial: randomSerial() }))!;
  }

  function makeBatch(size: number): Batch {
    const digests = some(size);
    const tree = buildHashTree(
      'sha256',
      digests.map((digest) => [digest]),
      some(size),
    );
    return { digests, token: sign(tree.root), treeOf: (index) => tree.reducedHashtreeOf(index) };
  }

  const [batch, other] = [makeBatch(13), makeBatch(13)];
  const encode = (reducedHashtree: ReducedHashtree, token = batch.token) => encodeEvidenceRecord('sha256', { reducedHashtree, token });
  const anyLeaf = () => {
    const index = randomInt(batch.digests.length);
    const tree = batch.treeOf(index);
    return { tree, hash: batch.digests[index]!.toString('hex'), record: encode(tree) };
  };
  const otherRoot = /^evidence_root_mismatch: /;

  /** A document whose record was renewed twice, then by SHA-512, as the ArchiveTimeStamps of its chains. */
  function makeRenewed() {
    const document = randomBytes(20);
    const [digest, newDigest] = (['sha256', 'sha512'] as const).map((algorithm) => createHash(algorithm).update(document).digest());
    const renew = (record: Buffer, newDigest?: MessageImprint) =>
      renewEvidenceRecord(record, [{ path: [], token: signImprint(renewalImprintOf(record, newDigest)!), newDigest }])!;
    const first = encodeEvidenceRecord('sha256', { token: sign(digest!) });
    const record = renew(renew(renew(first)), { algorithm: 'sha512', digest: newDigest! });
    const chains = readEvidenceRecord(record).chains.map(({ timeStamps }) => timeStamps.map((timeStamp) => timeStamp.der));
    return {
      hash: digest!.toString('hex'),
      hashes: [newDigest!.toString('hex')],
      algorithms: derOf(parseDer(record).children[1]!),
      chains,
    };
  }
  const renewed = Array.from({ length: 3 }, makeRenewed);
  /** Any of them with other chains. */
  function rewritten(
    change: (own: readonly Buffer[][], others: readonly Buffer[][]) => readonly (readonly Buffer[])[],
    codes = /^evidence_link_mismatch: /,
  ) {
    const index = randomInt(renewed.length);
    const [own, others] = [renewed[index]!, renewed[(index + 1) % renewed.length]!];
    const chains = change(own.chains, others.chains).map((timeStamps) => der.sequence(...timeStamps));
    const record = der.sequence(der.integer(1), own.algorithms, der.sequence(...chains));
    return { record, hash: own.hash, hashes: own.hashes, codes };
  }

  return {
    /** Unchanged: accepted. */
    none: (): Manipulated => ({ ...anyLeaf(), codes: /^$/ }),
    truncated: (): Manipulated => {
      const { record, hash } = anyLeaf();
      return { record: record.subarray(0, 1 + randomInt(record.length - 1)), hash, codes: /^(der_\w+|unknown_format): / };
    },
    'lists in another order': (): Manipulated => {
      const { tree, hash } = anyLeaf();
      const from = randomInt(tree.length - 1);
      const lists = [...tree];
      [lists[from], lists[from + 1]] = [lists[from + 1]!, lists[from]!];
      return { record: encode(lists), hash, codes: /^evidence_(root_mismatch|imprint_missing): / };
    },
    'of two batches': (): Manipulated => {
      const { tree, hash } = anyLeaf();
      const at = 1 + randomInt(tree.length - 1);
      const foreign = other.treeOf(randomInt(other.digests.length));
      const mixed = randomInt(2) === 0 ? encode(tree, other.token) : encode([...tree.slice(0, at), ...foreign.slice(at)]);
      return { record: mixed, hash, codes: otherRoot };
    },
    'of another stamp': (): Manipulated => {
      const { record, hash } = anyLeaf();
      const others = batch.digests.map((digest) => digest.toString('hex')).filter((digest) => digest !== hash);
      return { record, hash: others[randomInt(others.length)]!, codes: /^evidence_imprint_missing: / };
    },
    'a pair in descending order': (): Manipulated => {
      const [imprint, blind, ...siblings] = some(2 + randomInt(6));
      const path = [blind!, ...siblings];
      const swapped = randomInt(path.length);
      const root = path.reduce<Buffer>((node, sibling, i) => {
        const pair = [node, sibling].sort(Buffer.compare);
        return concatenated(...(i === swapped ? pair.reverse() : pair));
      }, imprint!);
      const record = encode(
        [imprint!, ...path].map((hash) => [hash]),
        sign(root),
      );
      return { record, hash: imprint!.toString('hex'), codes: otherRoot };
    },
    'an extra hash': (): Manipulated => {
      const { tree, hash } = anyLeaf();
      const at = randomInt(tree.length);
      const isOfList = randomInt(2) === 0;
      const lists = isOfList
        ? tree.map((list, i) => (i === at ? [...list, randomBytes(32)] : list))
        : [...tree.slice(0, at + 1), [randomBytes(32)], ...tree.slice(at + 1)];
      return { record: encode(lists), hash, codes: otherRoot };
    },
    'renewals as they were made': (): Manipulated => rewritten((own) => own, /^$/),
    'renewals in another order': (): Manipulated =>
      rewritten(([first, second]) => {
        const last = randomInt(2);
        return last === 0 ? [[first![0]!, first![2]!, first![1]!], second!] : [[first![1]!, first![0]!, first![2]!], second!];
      }, /^evidence_(link_mismatch|order|imprint_missing): /),
    'without a renewal': (): Manipulated =>
      rewritten(([first, second]) => [first!.toSpliced(randomInt(3), 1), second!], /^evidence_(link_mismatch|imprint_missing): /),
    'renewals of another stamp': (): Manipulated =>
      rewritten(([first, second], [otherFirst, otherSecond]) => {
        const at = randomInt(3);
        return at === 2 ? [first!, otherSecond!] : [first!.with(1 + at, otherFirst![1 + at]!), second!];
      }, /^evidence_(link_mismatch|order): /),
    'chains in one': (): Manipulated => rewritten(([first, second]) => [[...first!, ...second!]], /^evidence_algorithm_mismatch: /),
    BER: (): Manipulated => {
      const { record, hash } = anyLeaf();
      const bytes = randomBytes(64);
      let at = 0;
      const choose = () => bytes[at++ % bytes.length]!;
      const ber = berOf(parseDer(record), choose);
      return {
        record: ber.equals(record) ? Buffer.concat([Buffer.from([0x30, 0x80]), record.subarray(4), Buffer.alloc(2)]) : ber,
        hash,
        codes: /^(der_\w+|unknown_format): /,
      };
    },
  };
}
