import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findProgram, runToEnd } from '../../scripts/stack/run.ts';
import { completionOf } from '../../src/cli/commands/completion.ts';
import { folderWith, runCommand, temporaryFolder } from '../support/cli.ts';
import { inherited } from '../support/environment.ts';

async function scriptFor(shell: string) {
  const path = join(temporaryFolder(), `qstamp.${shell}`);
  const { code, stdout: script } = await runCommand(['completion', shell], { cwd: temporaryFolder() });
  expect(code).toBe(0);
  writeFileSync(path, script);
  return { path, script };
}

test('bash: completes commands, their options and the values of options; files are left to bash', async () => {
  const cases: readonly (readonly [words: readonly string[], offered: string])[] = [
    [['sta'], 'stamp'],
    [['work'], 'workflow'],
    [['workflow', ''], 'start add status resend complete bundle redact'],
    [['help', 'workflow', 'st'], 'start status'],
    [['jobs', 're'], 'retry'],
    [['mails', ''], 'blocked allow'],
    [['check-settings', '--'], '--quiet --help'],
    [['completion', ''], 'bash zsh fish'],
    [['verify', '--c'], '--ca --crl'],
    [['workflow', 'add', '--w'], '--workflow'],
    [['--tier', 'sealed', 'stamp', '--fo'], '--force'],
    [['stamp', '--tier', ''], 'basic plus sealed'],
    [['stamp', '--tier', '=', 's'], 'sealed'],
    [['workflow', 'start', '--tier', ''], 'standard verified qualified'],
    [['workflow', 'start', '--title', ''], ''],
    [['stamp', 'fi'], ''],
  ];
  const asked = cases.map(([words]) => {
    const line = ['qstamp', ...words].map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${line}); COMP_CWORD=${words.length}; COMPREPLY=(); _qstamp; echo "\${COMPREPLY[*]}"`;
  });
  const program = `source "$0"; complete -p qstamp\n${asked.join('\n')}`;
  const { stdout, stderr } = await runToEnd('bash', ['-uc', program, (await scriptFor('bash')).path], { env: inherited });
  expect(stderr).toBe('');
  const [registered, ...offered] = stdout.split('\n');
  expect(registered).toBe('complete -o default -F _qstamp qstamp');
  expect(offered.slice(0, -1)).toEqual(cases.map(([, words]) => words));
});

test.each(['zsh', 'fish'])('%s: the script has the commands and options, and no fault of syntax', async (shell) => {
  const { path, script } = await scriptFor(shell);
  for (const word of ['qstamp', 'workflow', 'redact', 'show-name', 'check-settings']) expect(script).toContain(word);
  if (findProgram(shell) === undefined) return;
  expect(await runToEnd(shell, ['-n', path], { env: inherited })).toMatchObject({ code: 0, stderr: '' });
});

test('another shell is a usage error', async () => {
  expect(await folderWith([completionOf(() => [])], {}).run(['completion', 'csh'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: 'qstamp: name one shell: bash, zsh or fish (see qstamp completion --help)\n',
  });
});
