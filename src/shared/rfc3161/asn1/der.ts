import { Refusal, refuse } from '../refusal/refusal.ts';
import { checkPrimitive } from './der-primitives.ts';
import { CLASS, CONSTRUCTED, TAG } from './tags.ts';

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
