import { type Bundle, withSums } from './bundle-lab.ts';

type Bend = (good: Bundle, other: Bundle) => Bundle;

/** A way to change a bundle, with the reason from `qstamp verify` and the message of `verify.py`. */
type Manipulation = readonly [what: string, reason: string, says: RegExp, bend: Bend];

/** Other octets in one file, with corrected hashes in SHA256SUMS, like a forger would do. */
export const octets =
  (name: string, edit: (content: Buffer) => Buffer): Bend =>
  (good) => {
    const content = edit(good.get(name)!);
    if (content.equals(good.get(name)!)) throw new Error(`${name} was not changed`);
    return withSums(new Map(good).set(name, content));
  };

const record = (edit: (text: string) => string) => octets('closing-record.json', (content) => Buffer.from(edit(String(content))));

/** The three lines of a file, in another form. */
const lines = (name: string) => (edit: (a: string, b: string, c: string) => readonly string[]) =>
  octets(name, (content) => {
    const [a = '', b = '', c = ''] = String(content).split('\n');
    return Buffer.from(
      edit(a, b, c)
        .map((line) => `${line}\n`)
        .join(''),
    );
  });
const outputs = lines('outputs.txt');
const proofs = lines('proofs/1.txt');
export const stamps = lines('stamps/1.txt');

/** Replaces these files with those of another workflow. */
export const taken =
  (...names: readonly string[]): Bend =>
  (good, other) =>
    withSums(new Map([...good].map(([name, content]) => [name, names.includes(name) ? (other.get(name) ?? content) : content])));

const added =
  (name: string, text: string): Bend =>
  (good) =>
    withSums(new Map(good).set(name, Buffer.from(text)));

/** The first hexadecimal digit of the field with that index, changed. */
const bentField = (line: string, index: number): string =>
  line
    .split(' ')
    .map((field, at) => (at === index ? `${field.startsWith('0') ? '1' : '0'}${field.slice(1)}` : field))
    .join(' ');

/** The field with that index in upper case. */
const upper = (line: string, index: number): string =>
  line
    .split(' ')
    .map((field, at) => (at === index ? field.toUpperCase() : field))
    .join(' ');
/** A token one octet longer, so that its base64 ends with padding, which is then cut off. */
const unpadded = (line: string): string => {
  const [number, kind, token = ''] = line.split(' ');
  const bytes = Buffer.from(token, 'base64');
  return `${number} ${kind} ${Buffer.concat([bytes, Buffer.alloc(bytes.length % 3 === 0 ? 1 : 3 - (bytes.length % 3) + 1)])
    .toString('base64')
    .replace(/=+$/, '')}`;
};

export const numbered = (...all: readonly string[]): string[] => all.map((line, index) => line.replace(/^\d+/, String(index + 1)));
const flipped = (bytes: Buffer): Buffer => {
  const bent = Buffer.from(bytes);
  bent[bent.length - 8]! ^= 1;
  return bent;
};
export const followed = (hex: string) => (bytes: Buffer) => Buffer.concat([bytes, Buffer.from(hex, 'hex')]);
export const followedToken = (line: string): string => {
  const [number, kind, token = ''] = line.split(' ');
  return `${number} ${kind} ${followed('0000')(Buffer.from(token, 'base64')).toString('base64')}`;
};

/** Both bundles are of workflows with three outputs. */
// biome-ignore format: a row is one line, or two
export const manipulations: readonly Manipulation[] = [
  ['an output hash is another one', 'chain_mismatch',
    /chain breaks at output 2/, outputs((a, b, c) => [a, bentField(b, 1), c])],
  ['a chain hash is another one', 'chain_mismatch', /chain breaks at output 2/, outputs((a, b, c) => [a, bentField(b, 2), c])],
  ['the last output is gone', 'chain_mismatch',
    /closing record has a different number of outputs/, outputs((a, b) => [a, b])],
  ['there is one output more', 'chain_mismatch',
    /chain breaks at output 4/, outputs((a, b, c) => numbered(a, b, c, a))],
  ['two outputs have changed places', 'chain_mismatch',
    /chain breaks at output 1/, outputs((a, b, c) => numbered(b, a, c))],
  ['two outputs have changed numbers', 'chain_mismatch',
    /output 1 is missing, or in the wrong place/, outputs((a, b, c) => [b, a, c])],
  ['the outputs are those of another workflow', 'chain_mismatch',
    /chain breaks at output 1/, taken('outputs.txt', 'proofs/1.txt', 'stamps/1.txt')],
  ['root.bin is another one', 'root_mismatch', /SHA-256 of root.bin is not the Merkle root/, octets('root.bin', flipped)],
  ['the time-stamp of the root is that of another workflow', 'imprint_mismatch',
    /time-stamp of root is for another hash/, taken('root.tst')],
  ['the time-stamp of the closing record is that of another workflow', 'imprint_mismatch',
    /time-stamp of closing-record is for another hash/, taken('closing-record.tst')],
  ['the time-stamp of the root is cut off', 'der_truncated',
    /time-stamp of root is not a time-stamp token/, octets('root.tst', (bytes) => bytes.subarray(0, 400))],
  ['the signature over the root is another one', 'signature_invalid',
    /time-stamp of root does not verify/, octets('root.tst', flipped)],
  ['octets follow the time-stamp of the root', 'der_trailing',
    /time-stamp of root .* has extra octets after it/, octets('root.tst', followed('30030201ff'))],
  ['an octet follows the time-stamp of the closing record', 'der_trailing',
    /time-stamp of closing-record .* has extra octets after it/, octets('closing-record.tst', followed('00'))],
  ['octets follow the time-stamp of an output', 'der_trailing',
    /own time-stamp of output 2 .* has extra octets after it/, stamps((a, b, c) => [a, followedToken(b), c])],
  ['the closing record is that of another root, with its time-stamp', 'imprint_mismatch',
    /chain breaks at output 1/, taken('closing-record.json', 'closing-record.tst')],
  ['everything that was sealed is that of another workflow', 'chain_mismatch',
    /chain breaks at output 1/, taken('closing-record.json', 'closing-record.tst', 'root.bin', 'root.tst')],
  ['the closing record tells of another number of outputs', 'imprint_mismatch',
    /closing record has a different number of outputs/, record((text) => text.replace('"output_count":3', '"output_count":2'))],
  ['the closing record tells of another tier', 'imprint_mismatch',
    /time-stamp of closing-record is for another hash/, record((text) => text.replace('"tier":"standard"', '"tier":"verified"'))],
  ['the closing record tells of another time', 'imprint_mismatch',
    /time-stamp of closing-record is for another hash/, record((text) => text.replace(/"completed_at":"20../, '"completed_at":"2019'))],
  ['the closing record is not in canonical form', 'bundle_malformed',
    /closing record in canonical form/, record((text) => text.replace(',', ', '))],
  ['the closing record begins with a byte order mark', 'bundle_malformed', /closing record in canonical form/, record((text) => `\uFEFF${text}`)],
  ['the closing record has a line more', 'bundle_malformed', /closing record in canonical form/, record((text) => `${text}\n{}`)],
  ['a path is one too long', 'inclusion_proof_invalid',
    /inclusion proof of output 2 leads elsewhere/, proofs((a, b, c) => [a, `${b} ${'ab'.repeat(32)}`, c])],
  ['a path is one too short', 'inclusion_proof_invalid',
    /inclusion proof of output 1 leads elsewhere/, proofs((a, b, c) => [a.replace(/ \S+$/, ''), b, c])],
  ['a hash in a path is another one', 'inclusion_proof_invalid',
    /inclusion proof of output 3 leads elsewhere/, proofs((a, b, c) => [a, b, bentField(c, 1)])],
  ['a proof is missing', 'bundle_malformed', /proof or stamp of output 1 is missing/, proofs((a, _, c) => [a, c])],
  ['two outputs have changed stamps', 'imprint_mismatch',
    /own time-stamp of output 1 is for another hash/, stamps((a, b, c) => numbered(b, a, c))],
  ['the stamps are those of another workflow', 'imprint_mismatch',
    /own time-stamp of output 1 is for another hash/, taken('stamps/1.txt')],
  ['a stamp is rubbish', 'unknown_format',
    /own time-stamp of output 3 is not a time-stamp token/, stamps((a, b, c) => [a, b, `${c.slice(0, 8)}${'QUJD'.repeat(20)}`])],
  ['a file was changed and SHA256SUMS was not', 'bundle_changed',
    /README.txt is not the file that SHA256SUMS lists/, (good) => new Map(good).set('README.txt', Buffer.from('All is well.\n'))],
  ['there is a file that belongs to no bundle', 'bundle_malformed',
    /SHA256SUMS lists 'approval.txt', which is not a file of a bundle/, added('approval.txt', 'The client approves.\n')],
  ['a name commands the terminal', 'bundle_malformed',
    /SHA256SUMS lists '\\x1b\[2J\\x1b\]0;/,
    added('\x1b[2J\x1b]0;\x07\u009b31m\u202eall is well', '.\n')],
  ['a number commands the terminal', 'chain_mismatch',
    /output 2 is missing, or in the wrong place/, outputs((a, b, c) => [a, b.replace('2', '2\x1b[1F'), c])],
  ['an output hash is in upper case', 'chain_mismatch',
    /output 1 is missing, or in the wrong place/, outputs((a, b, c) => [upper(a, 1), b, c])],
  ['a hash in a path is in upper case', 'inclusion_proof_invalid', /inclusion proof of output 1 leads elsewhere/, proofs((a, b, c) => [upper(a, 1), b, c])],
  ['a word follows a stamp', 'bundle_malformed',
    /own time-stamp of output 2 is of an unknown kind/, stamps((a, b, c) => [a, `${b} approved`, c])],
  ['a stamp is in base64 without its end', 'bundle_malformed', /malformed/, stamps((a, b, c) => [a, unpadded(b), c])],
  ['the lines of proofs end as in DOS', 'inclusion_proof_invalid',
    /inclusion proof of output 1 leads elsewhere/, proofs((...all) => all.map((line) => `${line}\r`))],
  ['the last output has no line end', 'bundle_malformed',
    /outputs.txt does not end with a line/, octets('outputs.txt', (content) => content.subarray(0, -1))],
  ['the list has no line end', 'bundle_malformed', /SHA256SUMS does not end with a line/,
    (good) => new Map(good).set('SHA256SUMS', good.get('SHA256SUMS')!.subarray(0, -1))],
  ['the closing record tells of a tier that there is not', 'bundle_malformed',
    /closing record in canonical form/, record((text) => text.replace('"tier":"standard"', '"tier":"gold"'))],
  ['the closing record tells of the 31st of February', 'bundle_malformed',
    /malformed/, record((text) => text.replace(/"created_at":"20..-..-../, '"created_at":"2026-02-31'))],
  ['there is no README', 'bundle_malformed', /SHA256SUMS does not begin with the right files/,
    (good) => withSums(new Map([...good].filter(([name]) => name !== 'README.txt')))],
  ['the proofs are gone', 'bundle_malformed',
    /proofs\/1.txt is missing/, (good) => withSums(new Map([...good].filter(([name]) => name !== 'proofs/1.txt')))],
];
