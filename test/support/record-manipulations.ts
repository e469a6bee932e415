import { randomBytes, randomInt } from 'node:crypto';
import { parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import {
  buildHashTree,
  encodeRecord,
  encodeRequest,
  issueResponse,
  type ReducedHashtree,
  type SigningIdentity,
  type TsaProfile,
  tokenIn,
} from '../../src/shared/rfc3161/index.ts';
import { randomSerial } from '../../src/tsa/pki.ts';
import { DEVELOPMENT_POLICY } from '../../src/tsa/server.ts';
import { berOf } from './ber-forms.ts';
import { sha256 } from './requests.ts';

/** A record that somebody brings, the hash that he says it is for, and the codes with which it may be refused. */
export interface Manipulated {
  readonly record: Buffer;
  readonly hash: string;
  readonly codes: RegExp;
}

interface Batch {
  readonly digests: readonly Buffer[];
  readonly token: Buffer;
  readonly treeOf: (index: number) => ReducedHashtree;
}

const some = (count: number) => Array.from({ length: count }, () => randomBytes(32));
const concatenated = (...hashes: readonly Buffer[]): Buffer => Buffer.from(sha256(Buffer.concat(hashes)), 'hex');

/** Ways in which a record of a batch is turned into one that proves nothing; each call makes another one. */
export function recordManipulations(identity: SigningIdentity) {
  function sign(root: Buffer): Buffer {
    const request = encodeRequest({ imprint: { algorithm: 'sha256', digest: root }, nonce: randomBytes(16) });
    const profile: TsaProfile = { identity, policies: [DEVELOPMENT_POLICY], accuracy: { seconds: 1 } };
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
  const encode = (reducedHashtree: ReducedHashtree, token = batch.token) => encodeRecord('sha256', { reducedHashtree, token });
  const anyLeaf = () => {
    const index = randomInt(batch.digests.length);
    const tree = batch.treeOf(index);
    return { tree, hash: batch.digests[index]!.toString('hex'), record: encode(tree) };
  };
  const otherRoot = /^evidence_root_mismatch: /;

  return {
    /** As it was given out: taken. */
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
