import { describe, expect, test } from 'vitest';
import { helpOf, parseCommandLine } from '../../src/cli/command-line.ts';
import { completionOf } from '../../src/cli/commands/completion.ts';
import { stamp } from '../../src/cli/commands/stamp.ts';
import { trustAdd, trustRemove } from '../../src/cli/commands/trust.ts';
import { verify } from '../../src/cli/commands/verify.ts';
import { workflowAdd, workflowComplete, workflowStart } from '../../src/cli/commands/workflow.ts';
import { folderWith } from '../support/cli.ts';

const commands = [completionOf(() => []), stamp, verify, trustAdd, trustRemove, workflowStart, workflowAdd, workflowComplete];
const parse = (line: string) => parseCommandLine(line.split(' ').filter(Boolean), commands);

describe('options', () => {
  test.each(['--tier sealed stamp a b', 'stamp --tier sealed a b', 'stamp a b --tier sealed', 'stamp a --tier=sealed b'])(
    'may come before or after the command: %s',
    (line) => {
      const asked = parse(line);
      expect(asked).toMatchObject({ what: 'run', operands: ['a', 'b'], values: { tier: 'sealed' } });
      expect(asked.what === 'run' && asked.command).toBe(stamp);
    },
  );

  test('may come between the two words of a command', () => {
    expect(parse('workflow --json add a')).toMatchObject({ operands: ['a'], values: { json: true } });
  });

  test('a file may be named like a command or a dash, or begin with a dash', () => {
    expect(parse('stamp verify - -- --json')).toMatchObject({ operands: ['verify', '-', '--json'], values: {} });
  });
});

describe('invalid arguments give exit code 2 and a helpful error in one line', () => {
  test.each([
    ['stmap a', 'there is no command "stmap"; did you mean stamp?', 'qstamp'],
    ['workflow ad a', 'there is no command "workflow ad"; did you mean workflow add?', 'qstamp workflow'],
    ['chek-settings', 'there is no command "chek-settings"; did you mean check-settings?', 'qstamp'],
    ['destroy a', 'there is no command "destroy"', 'qstamp'],
    ['workflow', '"workflow" needs one of start, add, complete', 'qstamp workflow'],
    ['stamp --teir basic a', "Unknown option '--teir'; did you mean --tier?", 'qstamp stamp'],
    ['stamp a --tier', "Option '--tier <value>' argument missing", 'qstamp stamp'],
    ['verify --tier basic a', '"verify" takes no --tier', 'qstamp verify'],
    ['workflow complete extra', '"workflow complete" takes no operand, got "extra"', 'qstamp workflow complete'],
    ['stamp', 'name at least one file to stamp, or - for standard input', 'qstamp stamp'],
    ['completion csh', 'name one shell: bash, zsh or fish', 'qstamp completion'],
    ['stamp --tier gold a', '--tier takes basic, plus, sealed', 'qstamp stamp'],
    ['verify a b --token c', '--token is the stamp of one file', 'qstamp verify'],
    [
      'workflow start --email a@example.com --agent me --briefing-hash abc',
      '--briefing-hash takes 64 hexadecimal characters',
      'qstamp workflow start',
    ],
    ['workflow start --email a@example.com --agent me', 'exactly one of --briefing and --briefing-hash is needed', 'qstamp workflow start'],
  ])('%s', async (line, sentence, help) => {
    const { code, stdout, stderr } = await folderWith(commands, {}).run(line.split(' '));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.replace(/^(qstamp|-): /, '')).toBe(`${sentence} (see ${help} --help)\n`);
  });
});

describe('help', () => {
  test.each([
    ['-h', undefined],
    ['stamp --help', 'stamp'],
    ['help workflow', 'workflow'],
    ['help help', undefined],
    ['', undefined],
  ])('%s', (line, name) => {
    expect(parse(line)).toEqual({ what: 'help', name });
  });

  test('the overview lists every command, the environment and the exit codes', () => {
    const overview = helpOf(undefined, commands);
    for (const { name } of commands) expect(overview).toContain(`qstamp ${name} `.trimEnd());
    expect(overview).not.toMatch(/.{101}/);
    expect(overview).toMatch(/qstamp check-providers[\s\S]*QSTAMP_URL[\s\S]*Exit codes/);
  });

  test.each(commands)('$name: its help lists each of its options', (command) => {
    const help = helpOf(command.name, commands);
    expect(help).toMatch(new RegExp(`^qstamp ${command.name}`));
    expect(help).not.toMatch(/.{101}/);
    for (const option of Object.keys(command.options)) expect(help).toContain(`  --${option}`);
  });
});
