import { Refusal, refuse } from '../refusal/refusal.ts';

/** The tags of the ASN.1 types; each is one octet (X.690 §8.1.2). */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
  /** The tag `[n]` of a primitive element. */
  context: (number: number) => 0x80 | number,
  /** The tag `[n]` of a constructed element. */
  contextConstructed: (number: number) => 0xa0 | number,
} as const;

/** The bit in a tag that marks an element with other elements inside (constructed). */
export const CONSTRUCTED = 0x20;
/** The bits in a tag for its class. Both are zero for a universal type. */
const CLASS = 0xc0;

/**
 * This module reads DER (ITU-T X.690 §8–§11) into a tree. The whole input is checked before it is used: every length has its shortest form, no
 * element is longer than the element around it, every value has the only form that DER allows, and size, depth and number of elements have limits.
 * The tree points into the input, so that signatures are verified over the received octets and never over a re-encoded copy.
 */

/** One element (tag, length, contents) with its position in the input. */
export interface Der {
  readonly tag: number;
  readonly source: Buffer;
  /** Where the element starts. */
  readonly start: number;
  /** Where its contents start. */
  readonly content: number;
  /** Where the element and its contents end. */
  readonly end: number;
  /** Empty for a primitive element. */
  readonly children: readonly Der[];
}

export interface DerLimits {
  readonly maxBytes: number;
  readonly maxElements: number;
  readonly maxDepth: number;
}

/**
 * The limits for a token. A token with its certificates has about 5 KiB, 300 elements and 15 levels. Revocation lists inside it make it larger; they
 * have about one element for every five octets.
 */
export const TOKEN_LIMITS: DerLimits = { maxBytes: 1024 * 1024, maxElements: 256 * 1024, maxDepth: 32 };

/**
 * Reads one element, which must fill `bytes` exactly.
 *
 * @throws Refusal with a `der_…` code
 */
export function parseDer(bytes: Uint8Array, limits: DerLimits = TOKEN_LIMITS): Der {
  const source = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (source.length > limits.maxBytes) refuse('der_too_large', `There are ${source.length} octets; ${limits.maxBytes} is the most.`);
  const end = checkElement(source, 0, source.length, 1, { left: limits.maxElements, maxDepth: limits.maxDepth });
  if (end !== source.length) refuse('der_trailing', `${source.length - end} octets follow the end.`);
  return elementAt(source, 0);
}

export interface Budget {
  left: number;
  readonly maxDepth: number;
}

/** Counts an element, and refuses if there are too many or they are nested too deeply. */
export function spend(budget: Budget, depth: number): void {
  if (--budget.left < 0) refuse('der_too_large', 'There are too many elements.');
  if (depth > budget.maxDepth) refuse('der_too_deep', `More than ${budget.maxDepth} levels are nested.`);
}

/** Checks the element at `start` and everything inside it. Returns where the element ends. */
function checkElement(source: Buffer, start: number, limit: number, depth: number, budget: Budget): number {
  spend(budget, depth);
  if (start + 2 > limit) throw overrun(start, depth);

  const tag = source[start]!;
  if ((tag & 0x1f) === 0x1f) refuse('der_malformed', `The tag at octet ${start} has more than one octet.`);
  let length = source[start + 1]!;
  let content = start + 2;
  if (length >= 0x80) {
    const octets = length & 0x7f;
    if (octets === 0) refuse('der_length', `The length at octet ${start + 1} is indefinite.`);
    if (octets > 4) refuse('der_length', `The length at octet ${start + 1} has ${octets} octets.`);
    content += octets;
    if (content > limit) throw overrun(start, depth);
    length = source.readUIntBE(start + 2, octets);
    if (length < 0x80 || length < 2 ** (8 * (octets - 1))) refuse('der_length', `The length at octet ${start + 1} is longer than needed.`);
  }
  const end = content + length;
  if (end > limit) throw overrun(start, depth);

  if ((tag & CONSTRUCTED) === 0) {
    if ((tag & CLASS) === 0) checkPrimitive(tag, source, content, end);
    return end;
  }
  if ((tag & CLASS) === 0 && tag !== TAG.sequence && tag !== TAG.set) {
    refuse('der_not_canonical', `The element at octet ${start} is constructed, but its type is primitive.`);
  }
  for (let next = content; next < end; ) next = checkElement(source, next, end, depth + 1, budget);
  return end;
}

/** Makes the refusal of an element that is too long. The outermost element may be cut off; an inner element longer than its parent is always wrong. */
export function overrun(start: number, depth: number): Refusal {
  if (depth === 1) return new Refusal('der_truncated', 'The data ends before the outermost element ends.');
  return new Refusal('der_malformed', `The element at octet ${start} goes beyond the one around it.`);
}

/** An element that was checked. Most of a token is never read, so the children of an element are made only on demand. */
class CheckedElement implements Der {
  readonly tag: number;
  readonly source: Buffer;
  readonly start: number;
  readonly content: number;
  readonly end: number;
  private inner: readonly Der[] | undefined;

  constructor(tag: number, source: Buffer, start: number, content: number, end: number) {
    this.tag = tag;
    this.source = source;
    this.start = start;
    this.content = content;
    this.end = end;
    this.inner = undefined;
  }

  get children(): readonly Der[] {
    if (this.inner === undefined) {
      const children: Der[] = [];
      if ((this.tag & CONSTRUCTED) !== 0) {
        for (let next = this.content; next < this.end; ) {
          const child = elementAt(this.source, next);
          children.push(child);
          next = child.end;
        }
      }
      this.inner = children;
    }
    return this.inner;
  }
}

function elementAt(source: Buffer, start: number): Der {
  const first = source[start + 1]!;
  if (first < 0x80) return new CheckedElement(source[start]!, source, start, start + 2, start + 2 + first);
  const octets = first & 0x7f;
  const content = start + 2 + octets;
  return new CheckedElement(source[start]!, source, start, content, content + source.readUIntBE(start + 2, octets));
}

/** Returns the whole element: tag, length and contents. */
export function derOf(element: Der): Buffer {
  return element.source.subarray(element.start, element.end);
}

export function contentsOf(element: Der): Buffer {
  return element.source.subarray(element.content, element.end);
}

/** Returns true if two elements have exactly the same octets. */
export function sameDer(a: Der, b: Der): boolean {
  return a.source.compare(b.source, b.start, b.end, a.start, a.end) === 0;
}

// Primitive values must have the only form that DER allows (X.690 §8, §10, §11).

/** NumericString, TeletexString, VideotexString, GraphicString, VisibleString, GeneralString, UniversalString. Their octets are not checked. */
const OTHER_STRINGS: ReadonlySet<number> = new Set([0x12, 0x14, 0x15, 0x19, 0x1a, 0x1b, 0x1c]);

/** Checks the contents of a primitive type. It does not check that the date of a time exists: the reader of times checks this. */
function checkPrimitive(tag: number, source: Buffer, content: number, end: number): void {
  const length = end - content;
  switch (tag) {
    case TAG.boolean:
      if (length !== 1 || (source[content] !== 0x00 && source[content] !== 0xff)) reject('BOOLEAN', content);
      return;
    case TAG.integer:
    case TAG.enumerated:
      if (!isMinimalInteger(source, content, end)) reject('INTEGER', content);
      return;
    case TAG.bitString:
      if (!isCanonicalBitString(source, content, end)) reject('BIT STRING', content);
      return;
    case TAG.null:
      if (length !== 0) reject('NULL', content);
      return;
    case TAG.oid:
      if (!isCanonicalOid(source, content, end)) reject('OBJECT IDENTIFIER', content);
      return;
    case TAG.utf8String:
      if (!isUtf8(source, content, end)) reject('UTF8String', content);
      return;
    case TAG.printableString: // Any ASCII is accepted, because CAs write '&', '@' and '*' into it, against X.680 §41.4.
    case TAG.ia5String:
    case TAG.utcTime:
    case TAG.generalizedTime:
      if (!isAscii(source, content, end)) reject('character string', content);
      return;
    case TAG.bmpString:
      if (length % 2 !== 0) reject('BMPString', content);
      return;
    case TAG.octetString:
      return;
    default:
      if (!OTHER_STRINGS.has(tag)) refuse('der_malformed', `No time-stamp has an element of type ${tag}, as at octet ${content}.`);
  }
}

function reject(what: string, content: number): never {
  refuse('der_not_canonical', `The ${what} at octet ${content} is not in the form of DER.`);
}

function isAscii(source: Buffer, content: number, end: number): boolean {
  for (let i = content; i < end; i++) if (source[i]! >= 0x80) return false;
  return true;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function isUtf8(source: Buffer, content: number, end: number): boolean {
  if (isAscii(source, content, end)) return true;
  try {
    utf8.decode(source.subarray(content, end));
    return true;
  } catch {
    return false; // A fatal decoder throws if the octets are not UTF-8.
  }
}

/** Returns true if an INTEGER has as few octets as possible (X.690 §8.3.2). */
export function isMinimalInteger(source: Buffer, content: number, end: number): boolean {
  if (content === end) return false;
  if (end - content === 1) return true;
  const first = source[content]!;
  const second = source[content + 1]!;
  return !((first === 0x00 && second < 0x80) || (first === 0xff && second >= 0x80));
}

/** Returns true if the first octet of a BIT STRING counts its unused bits, and these bits are zero (X.690 §8.6.2, §11.2.1). */
function isCanonicalBitString(source: Buffer, content: number, end: number): boolean {
  if (content === end) return false;
  const unused = source[content]!;
  if (unused === 0) return true;
  return unused <= 7 && end - content > 1 && (source[end - 1]! & ((1 << unused) - 1)) === 0;
}

/** Returns true if each arc has its shortest form, and the last arc is complete (X.690 §8.19.2). */
function isCanonicalOid(source: Buffer, content: number, end: number): boolean {
  if (content === end || (source[end - 1]! & 0x80) !== 0) return false;
  let atArcStart = true;
  for (let i = content; i < end; i++) {
    if (atArcStart && source[i] === 0x80) return false;
    atArcStart = (source[i]! & 0x80) === 0;
  }
  return true;
}

/** Reads the members of a SEQUENCE in order. It is a class because a token has about twenty SEQUENCEs: closures for them would need too much memory. */
class Members {
  readonly #name: string;
  readonly #children: readonly Der[];
  #next = 0;

  constructor(name: string, children: readonly Der[]) {
    this.#name = name;
    this.#children = children;
  }

  /** Returns the next member, whatever its type: for a CHOICE. */
  any(member: string): Der {
    return this.#children[this.#next++] ?? refuse('der_malformed', `${this.#name} has no ${member}.`);
  }

  /** Returns the next member, which must have this tag. */
  take(tag: number, member: string): Der {
    const child = this.any(member);
    return child.tag === tag ? child : refuse('der_malformed', `${member} of ${this.#name} is missing or of another type.`);
  }

  /** Returns the next member if it has this tag. Otherwise returns undefined, and the member is still the next. */
  optional(tag: number): Der | undefined {
    return this.#children[this.#next]?.tag === tag ? this.#children[this.#next++] : undefined;
  }

  /** Checks that all members were read. @throws Refusal `der_trailing` if there are more members */
  end(): void {
    if (this.#next !== this.#children.length) refuse('der_trailing', `${this.#name} has more members than it may have.`);
  }
}

export type { Members };

/** Begins to read the members of a SEQUENCE, or of an element with another `tag`. @throws Refusal `der_malformed` if the element has a different tag */
export function membersOf(element: Der, name: string, tag: number = TAG.sequence): Members {
  if (element.tag !== tag) refuse('der_malformed', `${name} is of another type.`);
  return new Members(name, element.children);
}

/** Returns the only element inside an EXPLICIT tag. */
export function inside(element: Der, name: string): Der {
  const [only, more] = element.children;
  if (only === undefined) refuse('der_malformed', `${name} is empty.`);
  if (more !== undefined) refuse('der_trailing', `${name} has more than one element.`);
  return only;
}
