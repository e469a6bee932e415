import { expect, it } from 'vitest';
import { agentNameOf } from '../../../src/workers/workflows/message.ts';

it.each([
  ['cover-artist/2.1', 'cover-artist/2.1'],
  ['Zeichnerin Ä (münchen) #3', 'Zeichnerin Ä (münchen) #3'],
  ['you won! visit https://evil.example/now', 'you won visit https //evil example/now'],
  ['mail me at a.b@evil.example', 'mail me at a b evil example'],
  ['one\r\nSubject: two\u2028three\u202eeerht', 'one Subject two three eerht'],
  ['"><script>alert(1)</script>', 'script alert(1) /script'],
  ['x'.repeat(1024), `${'x'.repeat(60)}…`],
  ['…„“', ''],
])('for %j a mail quotes %j', (agentId, name) => expect(agentNameOf(agentId)).toBe(name));
