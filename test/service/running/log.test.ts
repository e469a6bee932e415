import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const logModule = resolve(import.meta.dirname, '../../../src/shared/runtime/log.ts');

/** The arguments for Node to run `statements` with a logger `log` at level info. */
const logging = (statements: string): string[] => [
  '--input-type=module',
  '-e',
  `import { createLogger } from ${JSON.stringify(logModule)};
   const log = createLogger({ level: 'info', process: 'test' });
   ${statements}`,
];

/** The output of a process that logs `expression`. */
const printed = (expression: string): string =>
  execFileSync(process.execPath, logging(`log.info(${expression}, 'said');`), { encoding: 'utf8' });

test('an event is one line of JSON with time, level and process', () => {
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

test('logs an error with its code, its stack and its causes', () => {
  const line = printed("{ err: new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'ECONNREFUSED' }) }) }");
  expect(JSON.parse(line).err).toMatchObject({
    type: 'Error',
    message: 'outer',
    stack: expect.stringContaining('outer'),
    cause: { message: 'inner', code: 'ECONNREFUSED' },
  });
});

test.each(['info', 'fatal'])('a process still ends after lines of level %s if its log reader is gone', async (level) => {
  const lines = `log.${level}('nobody'); log.${level}('hears');`;
  const whenTold = `process.once('message', () => { ${lines} process.exit(3); }); process.send('up');`;
  const child = spawn(process.execPath, logging(whenTold), { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exit = once(child, 'exit');
  await once(child, 'message');
  child.stdout?.destroy();
  child.send('end');
  expect(await exit).toEqual([3, null]);
});
