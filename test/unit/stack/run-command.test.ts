import { expect, test } from 'vitest';
import { isAlive, processTree } from '../../../scripts/stack/process-group.ts';
import { CommandError, runCommand } from '../../../scripts/stack/run-command.ts';

const sh = (script: string, options = {}) => runCommand('sh', ['-c', script], options);

test('answers standard output, and shows every line as it comes', async () => {
  const lines: string[] = [];
  expect(await sh('echo out; echo err >&2', { onLine: (line: string) => lines.push(line) })).toBe('out');
  expect(lines.sort()).toEqual(['err', 'out']);
});

test('a command that fails says how and with which last words', async () => {
  const failure = await sh('echo "no space left" >&2; exit 7').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(CommandError);
  expect(failure).toMatchObject({ message: 'sh ended with code 7:\nno space left', output: 'no space left' });
  await expect(runCommand('/does/not/exist', [])).rejects.toThrow(CommandError);
});

test('an abort ends the command and its children, and is thrown when they are gone', async () => {
  const stop = new AbortController();
  const pids: number[] = [];
  const run = sh('sleep 1000 & echo $$; wait', {
    signal: stop.signal,
    onLine: (pid: string) => {
      pids.push(...processTree(Number(pid)));
      stop.abort(new Error('enough'));
    },
  });
  await expect(run).rejects.toThrow('enough');
  expect(pids).toHaveLength(2);
  await expect.poll(() => pids.filter(isAlive)).toEqual([]);
});

test('an abort lets a command that must not be cut in two finish', async () => {
  const stop = new AbortController();
  const lines: string[] = [];
  const run = sh('trap "" INT; echo ready; sleep 0.2; echo finished', {
    signal: stop.signal,
    interrupt: 'command',
    onLine: (line: string) => {
      lines.push(line);
      stop.abort(new Error('enough'));
    },
  });
  await expect(run).rejects.toThrow('enough');
  expect(lines).toEqual(['ready', 'finished']);
});

test('a command that takes too long has failed', async () => {
  await expect(sh('sleep 1000', { timeoutMs: 50 })).rejects.toThrow('ended with SIGTERM');
});
