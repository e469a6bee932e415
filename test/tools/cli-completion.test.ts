import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findProgram, runToEnd } from '../../scripts/stack/run.ts';
import { runCommand, runInBash, temporaryFolder } from '../support/cli.ts';
import { inherited } from '../support/environment.ts';

test('bash: completes commands, their options and the values of options; files are left to bash', async () => {
  const cases = [
    ['sta', 'stamp'],
    ['work', 'workflow'],
    ['workflow ', 'start add status resend complete bundle redact help'],
    ['help workflow st', 'start status'],
    ['jobs re', 'retry'],
    ['mails ', 'blocked allow'],
    ['completion ', 'bash zsh fish'],
    ['verify --c', '--ca --crl'],
    ['workflow add --w', '--workflow'],
    ['--json stamp --fo', '--force'],
    ['stamp --js', '--json'],
    ['stamp --tier ', 'basic plus sealed'],
    ['workflow start --tier ', 'standard verified qualified'],
    ['workflow start --title ', ''],
    ['stamp fi', ''],
  ] as const;
  const asked = cases.map(([typed]) => {
    const words = typed.split(' ').map((word) => `'${word}'`);
    return `COMP_WORDS=(qstamp ${words.join(' ')}); COMP_CWORD=${words.length}; COMPREPLY=(); _qstamp; echo "\${COMPREPLY[*]}"`;
  });
  const program = `set -u; source <(qstamp completion bash); complete -p qstamp\n${asked.join('\n')}`;
  const { stdout, stderr } = await runInBash(program, { cwd: temporaryFolder() });
  const offered = ['complete -o default -F _qstamp qstamp', ...cases.map(([, words]) => words)];
  expect([stderr, stdout.split('\n').slice(0, -1)]).toEqual(['', offered]);
});

test.each(['zsh', 'fish'])('%s: the script has the commands and options, and no fault of syntax', async (shell) => {
  const cwd = temporaryFolder();
  const { code, stdout: script } = await runCommand(['completion', shell], { cwd });
  expect(code).toBe(0);
  for (const word of ['qstamp', 'workflow', 'redact', 'show-name', 'check-settings']) expect(script).toContain(word);
  writeFileSync(join(cwd, 'script'), script);
  if (findProgram(shell) === undefined) return;
  expect(await runToEnd(shell, ['-n', 'script'], { cwd, env: inherited })).toMatchObject({ code: 0, stderr: '' });
});
