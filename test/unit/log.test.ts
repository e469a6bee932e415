import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const logModule = resolve(import.meta.dirname, '../../src/shared/log.ts');

/** What a process prints that logs `expression` at level info. */
const printed = (expression: string): string =>
  execFileSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { createLogger } from ${JSON.stringify(logModule)};
       const log = createLogger({ level: 'info', process: 'test' });
       log.info(${expression}, 'said');`,
    ],
    { encoding: 'utf8' },
  );

test('an event is one line of JSON with time, level and process (issue 7 §7)', () => {
  const lines = printed("{ requestId: 'r1', text: 'two\\nlines' }").trimEnd().split('\n');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'info',
    time: expect.stringMatching(/Z$/),
    process: 'test',
    requestId: 'r1',
    text: 'two\nlines',
    msg: 'said',
  });
});

test.each([
  ['the arguments of a Redis command', "{ err: Object.assign(new Error('ERR no'), { command: { name: 'xadd', args: ['SECRET'] } }) }"],
  [
    'the document of a failed write',
    "{ err: Object.assign(new Error('E11000'), { writeErrors: [{ err: { op: { token: 'SECRET' } } }] }) }",
  ],
  ['the same inside a cause', "{ err: new Error('a', { cause: Object.assign(new Error('b'), { op: 'SECRET' }) }) }"],
  ['the same inside an aggregate', "{ err: new AggregateError([Object.assign(new Error('b'), { op: 'SECRET' })]) }"],
  ['what is thrown and is no error', "{ err: { op: 'SECRET' } }"],
  ['a token', "{ token: 'SECRET', body: { content_b64: 'SECRET', user_email: 'SECRET' } }"],
])('leaves out %s', (_, expression) => {
  expect(printed(expression)).not.toContain('SECRET');
});

test('tells an error with its code, its stack and its causes', () => {
  const line = printed("{ err: new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'ECONNREFUSED' }) }) }");
  expect(JSON.parse(line).err).toMatchObject({
    type: 'Error',
    message: 'outer',
    stack: expect.stringContaining('outer'),
    cause: { message: 'inner', code: 'ECONNREFUSED' },
  });
});
