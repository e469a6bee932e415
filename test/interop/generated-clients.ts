import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutDir, type StackContext } from '../../scripts/stack/context.ts';
import { CommandError, runCommand } from '../../scripts/stack/run.ts';
import { developmentToken } from '../../src/shared/runtime/config.ts';
import { pythonPlace } from './packages.ts';
import { scenario } from './scenario.ts';

/** Handled as files, which this generator does only when it is told to. */
const files = ['timestamp-reply', 'timestamp-query', 'timestamp-token', 'pem-certificate-chain', 'x-pem-file', 'cbor', 'zip'];
const types = [...files, 'vnd.etsi.asic-s+zip', 'vnd.etsi.tsl+xml'].map((type) => [`application/${type}`, 'application/octet-stream']);

/** A foreign generator of clients. */
export const generator = { name: 'openapi-python-client' } as const;

/** Makes a client of the document in `documentFile`, which takes the scenario: how many calls were right, and a line for each that was not. */
export async function meetGenerator(
  context: StackContext,
  url: string,
  documentFile: string,
): Promise<{ right: number; faults: string[] }> {
  const place = await pythonPlace(context, generator.name, ['openapi-python-client==0.29.1']);
  const [client = '', config = '', scenarioFile = ''] = ['qstamp_client', 'generator.json', 'scenario.json'].map((name) =>
    join(context.dataDir, name),
  );
  writeFileSync(config, JSON.stringify({ content_type_overrides: Object.fromEntries(types) }));
  writeFileSync(scenarioFile, JSON.stringify(scenario));
  const options = ['--path', documentFile, '--output-path', client, '--meta', 'none', '--config', config, '--fail-on-warning'];
  const interpreter = join(place, 'bin/python');
  const env = { ...process.env, PATH: `${join(place, 'bin')}:${process.env.PATH}` };
  const lines: string[] = [];
  try {
    await runCommand(interpreter, ['-m', 'openapi_python_client', 'generate', ...options], { ...context, env });
    const driver = ['test/interop/openapi-python-client.py', client, url, developmentToken.token, scenarioFile];
    await runCommand(interpreter, driver, { signal: context.signal, cwd: checkoutDir, onLine: (line) => void lines.push(line) });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    if (lines.length === 0) return { right: 0, faults: [error.message] };
  }
  const faults = lines.filter((line) => !line.endsWith(': ok'));
  return { right: lines.length - faults.length, faults };
}
