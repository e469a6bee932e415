/** Where a JSON text stops being JSON, in the words of CPython's `json` module, which the first clients were written against. */
export interface JsonSyntaxError {
  /** Code points from the start of the text. */
  readonly offset: number;
  readonly error: string;
}

const literals = ['null', 'true', 'false'];
const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const whiteSpace = /[ \t\n\r]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 8259 §7 forbids just these in a string
const plainCharacters = /[^"\\\u0000-\u001f]*/y;

class SyntaxFault extends Error {
  readonly index: number;
  constructor(index: number, message: string) {
    super(message);
    this.index = index;
  }
}

function matchEnd(pattern: RegExp, text: string, index: number): number {
  pattern.lastIndex = index;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

/** The index behind a string whose opening quote is at `start`. */
function scanString(text: string, start: number): number {
  let index = start + 1;
  for (;;) {
    index = matchEnd(plainCharacters, text, index);
    const character = text[index];
    if (character === undefined) throw new SyntaxFault(start, 'Unterminated string starting at');
    if (character === '"') return index + 1;
    if (character !== '\\') throw new SyntaxFault(index, 'Invalid control character at');
    const escaped = text[index + 1];
    if (escaped === undefined) throw new SyntaxFault(start, 'Unterminated string starting at');
    if (escaped === 'u') {
      const isComplete = /^[0-9a-fA-F]{4}.$/s.test(text.slice(index + 2, index + 7));
      if (!isComplete) throw new SyntaxFault(index + 1, 'Invalid \\uXXXX escape');
      index += 6;
    } else if ('"\\/bfnrt'.includes(escaped)) {
      index += 2;
    } else {
      throw new SyntaxFault(index, 'Invalid \\escape');
    }
  }
}

/** The index behind a string, number or literal at `index`. */
function scanScalar(text: string, index: number): number {
  if (text[index] === '"') return scanString(text, index);
  const literal = literals.find((word) => text.startsWith(word, index));
  const end = literal ? index + literal.length : matchEnd(numberPattern, text, index);
  if (end < 0) throw new SyntaxFault(index, 'Expecting value');
  return end;
}

/** The index behind a member's name and its colon. */
function scanName(text: string, index: number): number {
  if (text[index] !== '"') throw new SyntaxFault(index, 'Expecting property name enclosed in double quotes');
  const colon = matchEnd(whiteSpace, text, scanString(text, index));
  if (text[colon] !== ':') throw new SyntaxFault(colon, "Expecting ':' delimiter");
  return matchEnd(whiteSpace, text, colon + 1);
}

/** Walks one document without recursion: `closers` are the brackets that are still open. */
function scanDocument(text: string): void {
  const closers: string[] = [];
  let index = matchEnd(whiteSpace, text, 0);
  for (;;) {
    const opened = text[index];
    if (opened === '{' || opened === '[') {
      const closer = opened === '{' ? '}' : ']';
      index = matchEnd(whiteSpace, text, index + 1);
      if (text[index] !== closer) {
        closers.push(closer);
        if (closer === '}') index = scanName(text, index);
        continue;
      }
      index += 1;
    } else {
      index = scanScalar(text, index);
    }
    index = matchEnd(whiteSpace, text, index);
    while (closers.length > 0 && text[index] === closers.at(-1)) {
      closers.pop();
      index = matchEnd(whiteSpace, text, index + 1);
    }
    if (closers.length === 0) break;
    if (text[index] !== ',') throw new SyntaxFault(index, "Expecting ',' delimiter");
    index = matchEnd(whiteSpace, text, index + 1);
    if (closers.at(-1) === '}') index = scanName(text, index);
  }
  if (index !== text.length) throw new SyntaxFault(index, 'Extra data');
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** The first fault of a text that `JSON.parse` refused (RFC 8259); undefined when it is JSON after all. Linear, not recursive. */
export function findJsonSyntaxError(text: string): JsonSyntaxError | undefined {
  try {
    scanDocument(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    return { offset: codePoints(text.slice(0, error.index)), error: error.message };
  }
}

/** Where a JSON text first opens more than `maxLevels` arrays and objects inside one another, in code points. */
export function findDeepNesting(text: string, maxLevels: number): number {
  let levels = 0;
  let index = 0;
  while (index < text.length) {
    const character = text[index];
    if (character === '{' || character === '[') levels += 1;
    if (character === '}' || character === ']') levels -= 1;
    if (levels > maxLevels) break;
    index = character === '"' ? scanString(text, index) : index + 1;
  }
  return codePoints(text.slice(0, index));
}
