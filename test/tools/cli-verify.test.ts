import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { stamp } from '../../src/cli/commands/stamp.ts';
import { verify } from '../../src/cli/commands/verify.ts';
import { workflowStart } from '../../src/cli/commands/workflow.ts';
import { workflowAdd } from '../../src/cli/commands/workflow-add.ts';
import { folderWith } from '../support/cli-in-process.ts';
import { jsonLines, runCommand } from '../support/command.ts';
import { sha256 } from '../support/requests.ts';
import { serviceToken, startService } from '../support/service.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';

const commands = [stamp, verify, workflowAdd, workflowStart];

test('V9: files alone prove stamps and outputs of a real TSA, without the service', async () => {
  const tsa = await startTsa();
  const service = await startService({ settings: providersSettings([{ tsa, qualified: true }]) });
  const { run, path, record } = folderWith(
    commands,
    { a: 'a', 'b.txt': 'b', 'root.pem': tsa.pki.rootPem },
    { url: service.url, serviceToken },
  );
  const asProcess = (line: string[]) => runCommand(line, { cwd: dirname(path('a')), env: { XDG_CONFIG_HOME: path('config') } });
  expect((await run(['stamp', 'a'])).stdout).toMatch(
    /^a \(1 byte\): stamped at \S+Z by tsa-1 \(qualified, as claimed by the operator\), saved as /,
  );
  const { token, token_id, issued_at } = record('a').stamp;
  const start = ['workflow', 'start', '--email', 'client@example.com', '--agent', 'me', '--briefing-hash', sha256('x')];
  expect((await run(start)).code).toBe(0);
  expect((await run(['workflow', 'add', 'b.txt'])).code).toBe(0);

  const online = await run(['verify', '--online', '--ca', 'root.pem', '--json', 'a', 'b.txt', String(token_id)]);
  expect(online.code).toBe(0);
  for (const result of jsonLines(online)) {
    expect(result).toMatchObject({ verdict: 'valid', online: { valid: true, tsp_provider: 'tsa-1', is_qualified: true } });
  }

  await service.stop();
  expect(await run(['verify', 'a', 'b.txt'])).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^a: NOT PROVED, .*\n[\s\S]*b\.txt: NOT PROVED/),
  });
  expect((await asProcess(['trust', 'add', '--yes', 'root.pem'])).code).toBe(0);
  const offline = await asProcess(['verify', '--json', 'a', 'a.qstamp.json', 'b.txt', String(token)]);
  expect(offline).toMatchObject({ code: 0, stderr: '' });
  const results = jsonLines(offline);
  expect(results.map(({ content_sha256 }) => content_sha256)).toEqual(['a', 'a', 'b', 'a'].map(sha256));
  for (const result of results)
    expect(result).toMatchObject({ verdict: 'valid', trust_anchor: { subject: expect.stringContaining('Root CA') } });
  expect(results[0]?.issued_at).toBe(issued_at);

  writeFileSync(path('b.txt'), 'changed');
  expect(await run(['verify', 'b.txt'])).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('NOT VALID, imprint_mismatch: '),
  });
});
