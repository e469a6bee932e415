import { refuse } from '../refusal/refusal.ts';
import { type Budget, CONSTRUCTED, type DerLimits, overrun, spend, TAG, TOKEN_LIMITS } from './der.ts';
import { headerOf } from './der-writer.ts';

/**
 * The result of converting BER to DER. In CMS, everything except the signed attributes may be BER (RFC 5652 §2). Two forms that BER allows and DER
 * does not are converted: indefinite or overlong lengths (X.690 §8.1.3), and octet strings in pieces (§8.7.3). So the reader of DER reads all tokens
 * and judges them equally strictly. It refuses all other BER forms, which stay unchanged here.
 */
interface Normalized {
  /** The DER of the same value. It is the input itself if the input was DER. */
  readonly der: Buffer;
  /** The positions in `der` of elements that had another form, in ascending order. */
  readonly rewritten: readonly number[];
}

/**
 * Converts one BER element to DER. The element must fill `bytes` exactly.
 *
 * @throws Refusal with a `der_…` code
 */
export function normalizeBer(bytes: Buffer, limits: DerLimits = TOKEN_LIMITS): Normalized {
  if (bytes.length > limits.maxBytes) refuse('der_too_large', `There are ${bytes.length} octets; ${limits.maxBytes} is the most.`);
  const budget = { left: limits.maxElements, maxDepth: limits.maxDepth, formsLeft: MAX_OTHER_FORMS };
  const root = readPiece(bytes, 0, bytes.length, 1, budget);
  if (root.end !== bytes.length) refuse('der_trailing', `${bytes.length - root.end} octets follow the end.`);
  if (root.header === undefined) return { der: bytes, rewritten: [] };
  const der = Buffer.allocUnsafe(root.size);
  const rewritten: number[] = [];
  write(root, bytes, der, 0, rewritten);
  return { der, rewritten };
}

/** The maximum number of elements in other forms than DER. A BER token has about twenty. Each costs more time than an element that is copied. */
const MAX_OTHER_FORMS = 8_192;

interface FormBudget extends Budget {
  formsLeft: number;
}

/** Counts elements in other forms than DER, and refuses if there are too many. */
function spendForms(budget: FormBudget, forms: number): void {
  budget.formsLeft -= forms;
  if (budget.formsLeft < 0) refuse('der_too_large', 'There are too many elements in other forms than DER.');
}

/** A part of the output. It is copied from the input, or has a new header and new contents. */
interface Piece {
  readonly start: number;
  /** Where the contents of the piece start in the input. */
  readonly content: number;
  /** Where the next element of the input starts. */
  readonly end: number;
  /** The size of the piece in the output. */
  readonly size: number;
  /** The new header. Undefined: the piece is copied. */
  readonly header: Buffer | undefined;
  readonly contents: readonly Piece[];
}

const NO_PIECES: readonly Piece[] = [];

const copied = (start: number, content: number, end: number): Piece => ({
  start,
  content,
  end,
  size: end - start,
  header: undefined,
  contents: NO_PIECES,
});

function rewritten(start: number, content: number, end: number, tag: number, contents: readonly Piece[]): Piece {
  let length = 0;
  for (const { size } of contents) length += size;
  const header = headerOf(tag, length);
  return { start, content, end, size: header.length + length, header, contents };
}

/** The maximum depth of octet strings in pieces that contain each other. It is the same as in OpenSSL 3.0. */
const MAX_NESTED_STRINGS = 6;

/** Reads the element at `start` and everything inside it. `stringDepth`: the number of octet strings in pieces directly around the element. */
function readPiece(source: Buffer, start: number, limit: number, depth: number, budget: FormBudget, stringDepth = 0): Piece {
  spend(budget, depth);
  if (stringDepth > MAX_NESTED_STRINGS) refuse('der_too_deep', `The octet string around octet ${start} is in pieces of pieces of pieces.`);
  if (start + 2 > limit) throw overrun(start, depth);
  const tag = source[start]!;
  if ((tag & 0x1f) === 0x1f) refuse('der_malformed', `The tag at octet ${start} has more than one octet.`);
  const { content, length, isShortest } = readLength(source, start, limit, depth);
  const isEndMarked = length === undefined;
  const contentsLimit = isEndMarked ? limit : content + length;
  if (contentsLimit > limit) throw overrun(start, depth);

  if ((tag & CONSTRUCTED) === 0) {
    if (isEndMarked) refuse('der_length', `The element at octet ${start} is primitive and of indefinite length.`);
    if (isShortest) return copied(start, content, contentsLimit);
    spendForms(budget, 1);
    return rewritten(start, content, contentsLimit, tag, [copied(content, content, contentsLimit)]);
  }

  if (!isShortest) spendForms(budget, 1);
  const isInPieces = tag === (TAG.octetString | CONSTRUCTED);
  const children: Piece[] = [];
  let next = content;
  while (isEndMarked ? !isEndMark(source, next, limit, depth) : next < contentsLimit) {
    const child = readPiece(source, next, contentsLimit, depth + 1, budget, isInPieces ? stringDepth + 1 : 0);
    if (isInPieces) spendForms(budget, 1);
    children.push(child);
    next = child.end;
  }
  const end = isEndMarked ? next + 2 : contentsLimit;
  if (isInPieces) return rewritten(start, content, end, TAG.octetString, octetsOf(children, source));
  if (isShortest && children.every(({ header }) => header === undefined)) return copied(start, content, end);
  return rewritten(start, content, end, tag, children);
}

/** Returns the octets of an octet string in pieces. Each piece is an octet string (X.690 §8.7.3.2), which may be in pieces again. */
function octetsOf(segments: readonly Piece[], source: Buffer): readonly Piece[] {
  return segments.flatMap(({ start, content, end, contents }) => {
    const tag = source[start]!;
    if (tag === TAG.octetString) return copied(content, content, end);
    if (tag === (TAG.octetString | CONSTRUCTED)) return contents;
    return refuse('der_malformed', `The element at octet ${start} is a piece of an octet string but is not one itself.`);
  });
}

/** Returns true if the two end-of-contents octets follow (X.690 §8.1.5). */
function isEndMark(source: Buffer, at: number, limit: number, depth: number): boolean {
  if (at + 2 > limit) throw overrun(at, depth);
  return source[at] === 0 && source[at + 1] === 0;
}

/** Reads a length (X.690 §8.1.3). `length` is undefined if the form is indefinite. */
function readLength(
  source: Buffer,
  start: number,
  limit: number,
  depth: number,
): { content: number; length: number | undefined; isShortest: boolean } {
  const first = source[start + 1]!;
  if (first < 0x80) return { content: start + 2, length: first, isShortest: true };
  if (first === 0x80) return { content: start + 2, length: undefined, isShortest: false };
  if (first === 0xff) refuse('der_length', `The length at octet ${start + 1} has a form that X.690 reserves.`);
  const content = start + 2 + (first & 0x7f);
  if (content > limit) throw overrun(start, depth);
  let length = 0;
  for (let at = start + 2; at < content; at++) {
    length = length * 256 + source[at]!;
    if (length > source.length) throw overrun(start, depth);
  }
  return { content, length, isShortest: length >= 0x80 && source[start + 2] !== 0 };
}

function write(piece: Piece, source: Buffer, der: Buffer, at: number, rewrittenAt: number[]): number {
  if (piece.header === undefined) return at + source.copy(der, at, piece.start, piece.end);
  rewrittenAt.push(at);
  let next = at + piece.header.copy(der, at);
  for (const inner of piece.contents) next = write(inner, source, der, next, rewrittenAt);
  return next;
}
