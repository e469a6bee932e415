import { expect, it } from 'vitest';
import { quotableFileName, quotableName } from '../../../src/shared/domain/public-name.ts';

it.each([
  ['Cover Artist 2.1', 'Cover Artist 2.1'],
  ["Zeichnerin Ä (münchen), O'Neil & Co.", "Zeichnerin Ä (münchen), O'Neil & Co."],
  [' Dr. Claude-4 ', 'Dr. Claude-4'],
  ['1234', '1234'],
  ['x'.repeat(60), 'x'.repeat(60)],
  ['x'.repeat(61), ''],
  ['call 12345 now', ''],
  ['call ١٢٣٤٥ now', ''],
  ['evil.example', ''],
  ['हिन्दी.com', ''],
  ['example.9com', ''],
  ['see www. example', ''],
  ['https://evil.example/now', ''],
  ['a.b@evil.example', ''],
  ['cover_artist', ''],
  ['one\r\nSubject: two', ''],
  ['three\u202eeerht', ''],
  ['"><script>alert(1)</script>', ''],
  ['…„“', ''],
  ['', ''],
])('for %j a mail quotes %j', (agentId, name) => expect(quotableName(agentId)).toBe(name));

it.each([
  ['Annual report_2026.PDF', 'Annual report_2026.PDF'],
  ['Text of the cover', 'Text of the cover'],
  ['photos.zip', ''],
  ['setup.py', ''],
  ['evil.example.pdf', ''],
  ['www.pdf.pdf', ''],
  ['src/cover.png', ''],
  ['call_12345.txt', ''],
  ['.pdf', ''],
])('for the file %j a mail quotes %j', (given, name) => expect(quotableFileName(given)).toBe(name));
