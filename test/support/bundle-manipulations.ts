import { type Bundle, withSums } from './bundle-lab.ts';

/** A way to bend a bundle, and what must be said of it. */
export interface Manipulation {
  readonly what: string;
  /** What `verify.sh` says. */
  readonly says: RegExp;
  /** The reason that `qstamp verify` gives. */
  readonly reason: string;
  bend(good: Bundle, other: Bundle): Bundle;
}

type Edit = (text: string, other: string) => string;

/** One file in another form, and the hashes in SHA256SUMS right again: whoever forges a bundle does that too. */
const edited =
  (name: string, edit: Edit): Manipulation['bend'] =>
  (good, other) => {
    const text = edit(String(good.get(name)), String(other.get(name)));
    if (text === String(good.get(name))) throw new Error(`${name} was not changed`);
    return withSums(new Map(good).set(name, Buffer.from(text)));
  };

/** Files of another workflow in place of these. */
const taken =
  (...names: readonly string[]): Manipulation['bend'] =>
  (good, other) =>
    withSums(new Map([...good].map(([name, content]) => [name, names.includes(name) ? (other.get(name) ?? content) : content])));

const lines =
  (edit: (lines: string[], other: string[]) => string[]): Edit =>
  (text, other) =>
    edit(text.split('\n').slice(0, -1), other.split('\n').slice(0, -1))
      .map((line) => `${line}\n`)
      .join('');

/** The first hexadecimal digit of the field with that index, changed. */
const bentField = (line: string, index: number): string =>
  line
    .split(' ')
    .map((field, at) => (at === index ? `${field.startsWith('0') ? '1' : '0'}${field.slice(1)}` : field))
    .join(' ');

const swapped = ([first, second, ...rest]: readonly string[]): string[] => [second!, first!, ...rest];
const numbered = (all: readonly string[]): string[] => all.map((line, index) => line.replace(/^\d+/, String(index + 1)));
const flipped = (bytes: Buffer): Buffer => {
  const bent = Buffer.from(bytes);
  bent[bent.length - 8]! ^= 1;
  return bent;
};
const bytesOf =
  (name: string, bend: (bytes: Buffer) => Buffer): Manipulation['bend'] =>
  (good) =>
    withSums(new Map(good).set(name, bend(good.get(name)!)));

const without =
  (name: string): Manipulation['bend'] =>
  (good) =>
    withSums(new Map([...good].filter(([each]) => each !== name)));

/** Both bundles are of workflows with three outputs. */
export const manipulations: readonly Manipulation[] = [
  {
    what: 'an output hash is another one',
    says: /chain breaks at output 2|Merkle root/,
    reason: 'chain_mismatch',
    bend: edited(
      'outputs.txt',
      lines(([a, b, c]) => [a!, bentField(b!, 1), c!]),
    ),
  },
  {
    what: 'a chain hash is another one',
    says: /chain breaks at output 2/,
    reason: 'chain_mismatch',
    bend: edited(
      'outputs.txt',
      lines(([a, b, c]) => [a!, bentField(b!, 2), c!]),
    ),
  },
  {
    what: 'the last output is gone',
    says: /closing record is of 3 outputs, and outputs.txt has 2|Merkle root/,
    reason: 'chain_mismatch',
    bend: edited(
      'outputs.txt',
      lines((all) => all.slice(0, 2)),
    ),
  },
  {
    what: 'there is one output more',
    says: /chain breaks at output 4|Merkle root/,
    reason: 'chain_mismatch',
    bend: edited(
      'outputs.txt',
      lines((all) => numbered([...all, all[0]!])),
    ),
  },
  {
    what: 'two outputs have changed places',
    says: /chain breaks at output 1|Merkle root/,
    reason: 'chain_mismatch',
    bend: edited(
      'outputs.txt',
      lines((all) => numbered(swapped(all))),
    ),
  },
  {
    what: 'two outputs have changed numbers',
    says: /outputs.txt has 2 where output 1 should be/,
    reason: 'chain_mismatch',
    bend: edited('outputs.txt', lines(swapped)),
  },
  {
    what: 'the outputs are those of another workflow',
    says: /chain breaks at output 1|Merkle root/,
    reason: 'chain_mismatch',
    bend: taken('outputs.txt', 'proofs/1.txt', 'stamps/1.txt'),
  },
  {
    what: 'root.bin is another one',
    says: /SHA-256 of root.bin is not the Merkle root/,
    reason: 'root_mismatch',
    bend: bytesOf('root.bin', flipped),
  },
  {
    what: 'the time-stamp of the root is that of another workflow',
    says: /time-stamp of the Merkle root does not verify/,
    reason: 'imprint_mismatch',
    bend: taken('root.tst'),
  },
  {
    what: 'the time-stamp of the closing record is that of another workflow',
    says: /time-stamp of the closing record does not verify/,
    reason: 'imprint_mismatch',
    bend: taken('closing-record.tst'),
  },
  {
    what: 'the time-stamp of the root is cut off',
    says: /time-stamp of the Merkle root is no time-stamp token/,
    reason: 'der_truncated',
    bend: bytesOf('root.tst', (bytes) => bytes.subarray(0, 400)),
  },
  {
    what: 'the signature over the root is another one',
    says: /time-stamp of the Merkle root does not verify/,
    reason: 'signature_invalid',
    bend: bytesOf('root.tst', flipped),
  },
  {
    what: 'octets follow the time-stamp of the root',
    says: /time-stamp of the Merkle root is followed by other octets/,
    reason: 'der_trailing',
    bend: bytesOf('root.tst', (bytes) => Buffer.concat([bytes, Buffer.from('30030201ff', 'hex')])),
  },
  {
    what: 'an octet follows the time-stamp of the closing record',
    says: /time-stamp of the closing record is followed by other octets/,
    reason: 'der_trailing',
    bend: bytesOf('closing-record.tst', (bytes) => Buffer.concat([bytes, Buffer.alloc(1)])),
  },
  {
    what: 'octets follow the time-stamp of an output',
    says: /own time-stamp of output 2 is followed by other octets/,
    reason: 'der_trailing',
    bend: edited(
      'stamps/1.txt',
      lines(([a, b, c]) => {
        const [number, kind, token = ''] = b!.split(' ');
        return [a!, `${number} ${kind} ${Buffer.concat([Buffer.from(token, 'base64'), Buffer.alloc(2)]).toString('base64')}`, c!];
      }),
    ),
  },
  {
    what: 'the closing record is that of another root, with its time-stamp',
    says: /chain breaks at output 1|Merkle root/,
    reason: 'imprint_mismatch',
    bend: taken('closing-record.json', 'closing-record.tst'),
  },
  {
    what: 'everything that was sealed is that of another workflow',
    says: /chain breaks at output 1|Merkle root/,
    reason: 'chain_mismatch',
    bend: taken('closing-record.json', 'closing-record.tst', 'root.bin', 'root.tst'),
  },
  {
    what: 'the closing record tells of another number of outputs',
    says: /closing record is of 2 outputs|Merkle root|does not verify/,
    reason: 'imprint_mismatch',
    bend: edited('closing-record.json', (text) => text.replace('"output_count":3', '"output_count":2')),
  },
  {
    what: 'the closing record tells of another tier',
    says: /time-stamp of the closing record does not verify/,
    reason: 'imprint_mismatch',
    bend: edited('closing-record.json', (text) => text.replace('"tier":"standard"', '"tier":"verified"')),
  },
  {
    what: 'the closing record tells of another time',
    says: /stamped at another time than the closing record says/,
    reason: 'imprint_mismatch',
    bend: edited('closing-record.json', (text) => text.replace(/"completed_at":"20../, '"completed_at":"2019')),
  },
  {
    what: 'the closing record is not in canonical form',
    says: /not in canonical form|where it should be/,
    reason: 'bundle_malformed',
    bend: edited('closing-record.json', (text) => text.replace(',', ', ')),
  },
  {
    what: 'the closing record has a line more',
    says: /holds more than the closing record/,
    reason: 'bundle_malformed',
    bend: edited('closing-record.json', (text) => `${text}\n{}`),
  },
  {
    what: 'a path is one too long',
    says: /inclusion proof of output 2 is too long/,
    reason: 'inclusion_proof_invalid',
    bend: edited(
      'proofs/1.txt',
      lines(([a, b, c]) => [a!, `${b} ${'ab'.repeat(32)}`, c!]),
    ),
  },
  {
    what: 'a path is one too short',
    says: /inclusion proof of output 1 is too short/,
    reason: 'inclusion_proof_invalid',
    bend: edited(
      'proofs/1.txt',
      lines(([a, b, c]) => [a!.split(' ').slice(0, -1).join(' '), b!, c!]),
    ),
  },
  {
    what: 'a hash in a path is another one',
    says: /inclusion proof of output 3 does not lead to the Merkle root/,
    reason: 'inclusion_proof_invalid',
    bend: edited(
      'proofs/1.txt',
      lines(([a, b, c]) => [a!, b!, bentField(c!, 1)]),
    ),
  },
  {
    what: 'a proof is missing',
    says: /has no line for output 2|line is missing/,
    reason: 'bundle_malformed',
    bend: edited(
      'proofs/1.txt',
      lines(([a, , c]) => [a!, c!]),
    ),
  },
  {
    what: 'two outputs have changed stamps',
    says: /own time-stamp of output 1 does not verify/,
    reason: 'imprint_mismatch',
    bend: edited(
      'stamps/1.txt',
      lines((all) => numbered(swapped(all))),
    ),
  },
  {
    what: 'the stamps are those of another workflow',
    says: /own time-stamp of output 1 does not verify/,
    reason: 'imprint_mismatch',
    bend: taken('stamps/1.txt'),
  },
  {
    what: 'a stamp is rubbish',
    says: /own time-stamp of output 3 is no time-stamp token/,
    reason: 'der_',
    bend: edited(
      'stamps/1.txt',
      lines(([a, b, c]) => [a!, b!, `${c!.slice(0, 8)}${'QUJD'.repeat(20)}`]),
    ),
  },
  {
    what: 'a file was changed and SHA256SUMS was not',
    says: /README.txt is not the file that SHA256SUMS lists/,
    reason: 'bundle_changed',
    bend: (good) => new Map(good).set('README.txt', Buffer.from('All is well.\n')),
  },
  {
    what: 'there is a file that belongs to no bundle',
    says: /SHA256SUMS (should list .* where it lists|lists) approval.txt/,
    reason: 'bundle_malformed',
    bend: (good) => withSums(new Map(good).set('approval.txt', Buffer.from('The client approves.\n'))),
  },
  {
    what: 'a name commands the terminal',
    says: /SHA256SUMS (should list .* where it lists|lists) \?\[2J\?\]0;\?\?\?31m\?\?\?all is well/,
    reason: 'bundle_malformed',
    bend: (good) => withSums(new Map(good).set('\x1b[2J\x1b]0;\x07\u009b31m\u202eall is well', Buffer.from('.\n'))),
  },
  {
    what: 'a number commands the terminal',
    says: /outputs.txt has 2\?\[1F where output 2 should be|Merkle root/,
    reason: 'chain_mismatch',
    bend: edited(
      'outputs.txt',
      lines(([a, b, c]) => [a!, b!.replace('2', '2\x1b[1F'), c!]),
    ),
  },
  {
    what: 'the proofs are gone',
    says: /should list proofs\/1.txt/,
    reason: 'bundle_malformed',
    bend: without('proofs/1.txt'),
  },
];
