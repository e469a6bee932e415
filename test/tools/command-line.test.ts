import { describe, expect, test } from 'vitest';
import { folderWith } from '../support/cli.ts';

const run = (line: string, files = {}) => folderWith(files).run(line.split(' ').filter(Boolean));

const commands = [
  ...['stamp', 'verify', 'pack', 'renew', 'trust add', 'trust list', 'trust remove', 'lists', 'completion', 'version'],
  ...['start', 'add', 'status', 'resend', 'complete', 'bundle', 'redact'].map((name) => `workflow ${name}`),
];

describe('options', () => {
  test.each(['--json trust list', 'trust --json list', 'trust list --json'])('of all commands may come anywhere: %s', async (line) => {
    expect(await run(line)).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  test.each(['pack --token x.tsr a', 'pack a --token x.tsr', 'pack a --token=x.tsr'])('of a command come after it: %s', async (line) => {
    expect(await run(line, { a: 'a' })).toMatchObject({ code: 5, stderr: 'a: x.tsr: there is no such file, and this is not a token\n' });
  });

  test('that are repeated are collected, and take no operand', async () => {
    const { code, stderr } = await run('verify --ca one.pem --ca two.pem a', { a: 'a', 'one.pem': '' });
    expect([code, stderr]).toEqual([5, expect.stringMatching(/^qstamp: (one|two)\.pem: /)]);
  });

  test('a file may be named like a command or a dash, or begin with a dash', async () => {
    const { code, stderr } = await run('pack verify -- --token');
    expect([code, stderr]).toEqual([5, 'verify: there is no such file\n--token: there is no such file\n']);
    expect((await run('pack -')).stderr).toMatch('standard input cannot be packed');
  });
});

describe('invalid arguments give exit code 2 and a helpful error in one line', () => {
  test.each([
    ['stmap a', "unknown command 'stmap'; did you mean stamp?", 'qstamp'],
    ['workflow ad a', "unknown command 'ad'; did you mean add?", 'qstamp workflow'],
    ['chek-settings', "unknown command 'chek-settings'; did you mean check-settings?", 'qstamp'],
    ['destroy a', "unknown command 'destroy'", 'qstamp'],
    ['stamp --teir basic a', "unknown option '--teir'; did you mean --tier?", 'qstamp stamp'],
    ['stamp a --tier', "option '--tier <TIER>' argument missing", 'qstamp stamp'],
    ['verify --tier basic a', "unknown option '--tier'", 'qstamp verify'],
    ['--tier basic stamp a', "unknown option '--tier'", 'qstamp'],
    ['workflow', 'a command is missing', 'qstamp workflow'],
    ['workflow complete extra', "too many arguments for 'complete'. Expected 0 arguments but got 1: extra.", 'qstamp workflow complete'],
    ['stamp', "missing required argument 'FILE|FOLDER'", 'qstamp stamp'],
    ['stamp --tier gold a', "option '--tier <TIER>' argument 'gold' is invalid. Allowed choices are basic, plus, sealed.", 'qstamp stamp'],
    ['stamp --metadata a b', "option '--metadata <NAME=VALUE>' argument 'a' is invalid. It takes NAME=VALUE.", 'qstamp stamp'],
    ['verify a b --token c', '--token is the stamp of one file', 'qstamp verify'],
    ['verify a --proof b --online', "option '--proof <FILE>' cannot be used with option '--online'", 'qstamp verify'],
    ['workflow start --agent me', "required option '--email <ADDRESS>' not specified", 'qstamp workflow start'],
    ['workflow start --email a@example.com --agent me', 'one of --briefing and --briefing-hash is needed', 'qstamp workflow start'],
    ['mails blocked nobody', 'mails takes an e-mail address', 'qstamp mails'],
  ])('%s', async (line, sentence, help) => {
    const { code, stdout, stderr } = await run(line);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toBe(`qstamp: ${sentence} (see ${help} --help)\n`);
  });
});

test('a command without results in JSON refuses --json', async () => {
  const { code, stdout } = await run('--json recount 2026-05-20 2026-05-21');
  expect([code, stdout]).toEqual([2, expect.stringContaining('--json is not for this command')]);
});

describe('help', () => {
  test.each([
    ['-h', ''],
    ['stamp --help', ' stamp'],
    ['help workflow', ' workflow'],
    ['help workflow start', ' workflow start'],
    ['--help verify', ' verify'],
    ['help help', ''],
    ['help', ''],
    ['', ''],
  ])('%s', async (line, name) => {
    expect(await run(line)).toMatchObject({ code: 0, stdout: expect.stringContaining(`Usage: qstamp${name} [`), stderr: '' });
  });

  test('the overview lists every command, an example, the environment and the exit codes', async () => {
    const { stdout } = await run('help');
    for (const name of commands) expect(stdout).toContain(`  ${name.split(' ')[0]} `);
    expect(stdout).toMatch(/ check-providers [\s\S]*qstamp stamp contract\.pdf[\s\S]*QSTAMP_URL[\s\S]*Exit codes/);
  });

  test.each(commands)('%s has help of its own, with the options of all commands', async (name) => {
    const { stdout } = await run(`help ${name}`);
    expect(stdout).toMatch(new RegExp(`^Usage: qstamp ${name} `));
    expect(stdout).toMatch(/ --json [\s\S]* --quiet /);
    expect(stdout).not.toMatch(/.{101}/);
  });
});
