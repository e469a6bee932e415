import { randomUUID } from 'node:crypto';

/**
 * Metadata of workflows comes back as it was sent (W15). `JSON.parse` rounds large integers, drops the fraction of `1.0`, and moves members
 * that are named by integers to the front. So the text is kept beside the value, without its white space.
 */
const texts = new WeakMap<object, string>();

const names: ReadonlySet<unknown> = new Set(['briefing_metadata', 'output_metadata']);
const hasName = /"(briefing|output)_metadata"/;
const otherToken = /[{}[\],:]|[^\s{}[\],:"]+/y;
const whiteSpace = /\s*/y;

/** The text that metadata was read from; its JSON where it came in no text. */
export const sentTextOf = (metadata: object): string => texts.get(metadata) ?? JSON.stringify(metadata);

/** Has `copy` be the same text as what it was made of. */
export function keepSentText(copy: object, original: object): void {
  const text = texts.get(original);
  if (text !== undefined) texts.set(copy, text);
}

/** Metadata as `sentTextOf` gave it. */
export function readSentText(text: string): Record<string, unknown> {
  const metadata = JSON.parse(text) as Record<string, unknown>;
  texts.set(metadata, text);
  return metadata;
}

/** An array or object whose end is not read yet, and the place in it that is: a name, or null before it, or an index. */
interface Open {
  readonly value: unknown;
  readonly start: number;
  place: string | number | null;
  /** Whether it is metadata, or in it. */
  readonly isMetadata: boolean;
}

const valueAt = ({ value, place }: Open): unknown =>
  typeof value === 'object' && value !== null && place !== null ? (value as Record<string | number, unknown>)[place] : undefined;

const isEscaped = (text: string, index: number): boolean => {
  let first = index;
  while (text[first - 1] === '\\') first -= 1;
  return (index - first) % 2 === 1;
};

/** The index behind the quote that ends a string. An expression for a whole string would overflow the stack of the matcher. */
function endOfString(text: string, start: number): number {
  let end = start;
  do end = text.indexOf('"', end + 1);
  while (isEscaped(text, end));
  return end + 1;
}

function endOf(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  pattern.test(text);
  return pattern.lastIndex;
}

/** Where the tokens of a text that is JSON begin and end. */
function* tokensOf(text: string): Generator<readonly [start: number, end: number]> {
  let start = endOf(whiteSpace, text, 0);
  while (start < text.length) {
    const end = text[start] === '"' ? endOfString(text, start) : endOf(otherToken, text, start);
    yield [start, end];
    start = endOf(whiteSpace, text, end);
  }
}

const tokenTexts = (text: string): string[] => [...tokensOf(text)].map(([start, end]) => text.slice(start, end));

/** Keeps the text without its white space, unless it says more than the value: of two members with one name the value has the last only. */
function keep(value: object, text: string): void {
  const sent = tokenTexts(text);
  if (sent.length === tokenTexts(JSON.stringify(value)).length) texts.set(value, sent.join(''));
}

/** No body nests deeper; members that others of the same name replace may, and then nothing is kept. */
const mostOpen = 66;
/** Longer texts are too large as metadata, also where each character is escaped. */
const mostCharacters = 64 * 1024;

/** Keeps the texts of all metadata in `value`, which `JSON.parse` made of `text`. */
export function keepSentTexts(value: unknown, text: string): void {
  if (!hasName.test(text)) return;
  const open: Open[] = [];
  for (const [start, end] of tokensOf(text)) {
    const first = text[start];
    const around = open.at(-1);
    if (first === '{' || first === '[') {
      if (open.length === mostOpen) return;
      const isMetadata = around !== undefined && (around.isMetadata || names.has(around.place));
      open.push({ value: around ? valueAt(around) : value, start, place: first === '{' ? null : 0, isMetadata });
    } else if (first === '}' || first === ']') {
      const ended = open.pop();
      const isOutermost = ended?.isMetadata && !open.at(-1)?.isMetadata;
      if (isOutermost && end - ended.start <= mostCharacters && typeof ended.value === 'object' && ended.value !== null) {
        keep(ended.value, text.slice(ended.start, end));
      }
    } else if (around?.place === null && first === '"') {
      around.place = JSON.parse(text.slice(start, end));
    } else if (around && first === ',') {
      around.place = typeof around.place === 'number' ? around.place + 1 : null;
    }
  }
}

const mark = randomUUID();

/** The JSON of an answer, in which metadata stands as it was sent. */
export function jsonAsSent(answer: unknown): string {
  const sent: string[] = [];
  const json = JSON.stringify(answer, (_name, value: unknown) => {
    const text = typeof value === 'object' && value !== null ? texts.get(value) : undefined;
    if (text === undefined) return value;
    sent.push(text);
    return mark;
  });
  return json.split(`"${mark}"`).reduce((before, after, index) => before + sent[index - 1] + after);
}
