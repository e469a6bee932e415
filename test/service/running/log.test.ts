import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/shared/runtime/log.ts';

const logModule = resolve(import.meta.dirname, '../../../src/shared/runtime/log.ts');

/** The arguments for Node to run `statements` with a logger `log` at level info. */
const logging = (statements: string): string[] => [
  '--input-type=module',
  '-e',
  `import { createLogger } from ${JSON.stringify(logModule)};
   const log = createLogger({ level: 'info', process: 'test' });
   ${statements}`,
];

/** The log line about `said`. */
function lineOf(said: object): string {
  const lines: string[] = [];
  createLogger({ level: 'info', process: 'api', destination: { write: (line) => void lines.push(line) } }).info(said, 'said');
  return lines.join('');
}

test('an event is one line of JSON with time, level and process', () => {
  const said = "log.info({ requestId: 'r1', text: 'two\\nlines' }, 'said');";
  const lines = execFileSync(process.execPath, logging(said), { encoding: 'utf8' }).trimEnd().split('\n');
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

const withSecret = (message: string) => Object.assign(new Error(message), { op: 'SECRET' });

test.each([
  ['the arguments of a Redis command', { err: Object.assign(new Error('ERR no'), { command: { name: 'xadd', args: ['SECRET'] } }) }],
  ['the document of a failed write', { err: Object.assign(new Error('E11000'), { writeErrors: [{ err: { op: { token: 'SECRET' } } }] }) }],
  ['the same inside a cause', { err: new Error('a', { cause: withSecret('b') }) }],
  ['the same inside an aggregate', { err: new AggregateError([withSecret('b')]) }],
  ['what is thrown and is no error', { err: { op: 'SECRET' } }],
])('leaves out %s', (_, said) => {
  expect(lineOf(said)).toContain('"msg":"said"');
  expect(lineOf(said)).not.toContain('SECRET');
});

test('logs an error with its code, its stack and its causes', () => {
  const line = lineOf({ err: new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'ECONNREFUSED' }) }) });
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
