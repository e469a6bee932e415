/** What agents are told, `/llms.txt` and the skill, does what it says. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { runInBash, temporaryFolder } from '../support/cli.ts';
import { postJson, sha256 } from '../support/requests.ts';
import { sharedService } from '../support/service.ts';
import { sharedTsaService } from '../support/tsa-service.ts';

const content = 'a report';

describe('skills/qstamp', async () => {
  const { service, tsa } = await sharedTsaService();
  const skill = readFileSync(join(checkoutDir, 'skills/qstamp/SKILL.md'), 'utf8');
  const [byCommand = '', byCurl = '', verifyByCommand = '', verifyByCurl = ''] = [...skill.matchAll(/^```sh\n(.*?)^```/gms)].map(
    ([, commands = '']) => commands,
  );
  const run = async (commands: string, cwd: string) => {
    const outcome = await runInBash(commands, { cwd, env: { QSTAMP_URL: service.url, XDG_CONFIG_HOME: cwd } });
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    return outcome.stdout;
  };

  test.each([
    ['the command', byCommand],
    ['curl', byCurl],
  ])('a file that is stamped by %s is verified by the command and by curl', async (_name, stamp) => {
    const cwd = temporaryFolder({ 'report.pdf': content, 'root.pem': tsa.pki.rootPem });
    await run(stamp, cwd);
    expect(await run(verifyByCommand, cwd)).toMatch(/^report\.pdf: valid, existed at /);
    const said = await run(verifyByCurl, cwd);
    expect(said).toContain('"valid":true');
    expect(said).toContain(`"content_sha256":"${sha256(content)}"`);
    expect(said).toContain(`${sha256(content)}  report.pdf`);
  });

  test('curl keeps an earlier stamp of the file, and no failure is kept as a stamp', async () => {
    const cwd = temporaryFolder({ 'report.pdf': content, 'report.pdf.stamp.json': 'the earlier one' });
    await runInBash(byCurl, { cwd, env: { QSTAMP_URL: service.url } });
    expect(readFileSync(join(cwd, 'report.pdf.stamp.json'), 'utf8')).toBe('the earlier one');
    const other = temporaryFolder({ 'report.pdf': content });
    const failed = await runInBash(byCurl, { cwd: other, env: { QSTAMP_URL: `${service.url}/nothing` } });
    expect([failed.code, existsSync(join(other, 'report.pdf.stamp.json'))]).toEqual([22, false]);
    expect(JSON.parse(readFileSync(join(other, 'answer.json'), 'utf8'))).toMatchObject({ detail: expect.any(String) });
  });

  test('names only MCP tools that exist, and its front matter is that of agentskills.io', async () => {
    const { body } = await postJson(service, '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const { tools } = body.result as { tools: { name: string }[] };
    const ofCommand = readFileSync(join(checkoutDir, 'src/cli/mcp-server.ts'), 'utf8').matchAll(/^ {4}'([a-z_]+)',$/gm);
    const named = [...tools.map(({ name }) => name), ...[...ofCommand].map(([, name]) => name)];
    const told = [...skill.matchAll(/`((?:stamp|verify|workflow|service)_[a-z_]+)`/g)].map(([, name]) => name);
    const members = ['verify_url', 'workflow_id'];
    expect(told.length).toBeGreaterThan(4);
    expect(named).toEqual(expect.arrayContaining(told.filter((name) => !members.includes(name ?? ''))));
    const head = parse(skill.split('---\n')[1] ?? '');
    expect(Object.keys(head)).toEqual(['name', 'description', 'license', 'compatibility']);
    expect([head.name, head.description.length <= 1024, head.compatibility.length <= 500]).toEqual(['qstamp', true, true]);
  });
});

describe('/llms.txt', async () => {
  const service = await sharedService();
  const answer = await service.fetch('/llms.txt');
  const text = await answer.text();

  test('has the form of llmstxt.org: a title, a summary, then lists of links', () => {
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const [head = '', ...sections] = text.split(/^## /m);
    expect(head).toMatch(/^# qstamp\n\n> [^\n]+\n\n/);
    expect(sections.length).toBeGreaterThan(1);
    for (const section of sections) expect(section).toMatch(/^[^\n]+\n\n(- \[[^\]\n]+\]\(http[^)\n]+\): [^\n]+\n)+\n?$/);
  });

  test('each link leads to an address of this service that answers', async () => {
    const links = [...text.matchAll(/\]\((.*?)\)/g)].map(([, link = '']) => link);
    expect(links.map((link) => link.startsWith(`${service.url}/`))).toEqual(links.map(() => true));
    const statuses = await Promise.all(links.map(async (link) => [new URL(link).pathname, (await fetch(link)).status]));
    expect(statuses).toEqual(links.map((link) => [new URL(link).pathname, link.endsWith('/mcp') ? 405 : 200]));
  });

  test('its commands stamp a file, and verify it', async () => {
    const cwd = temporaryFolder({ FILE: content });
    const [stamp = '', verify = ''] = [...text.matchAll(/^ {4}curl .*\\\n.*$/gm)].map(([command]) => command);
    const stamped = JSON.parse((await runInBash(stamp, { cwd })).stdout);
    const filled = verify.replace('TOKEN', stamped.token).replace('HASH', stamped.content_sha256);
    expect(JSON.parse((await runInBash(filled, { cwd })).stdout)).toMatchObject({ valid: true, content_sha256: sha256(content) });
  });
});
