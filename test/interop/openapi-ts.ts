/** Drives a client that `@hey-api/openapi-ts` made: `<folder of the client> <address> <service token> <file of the scenario>`. */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { Step } from './scenario.ts';

interface Outcome {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}

const [folder = '', baseUrl = '', serviceToken = '', scenarioFile = ''] = process.argv.slice(2);
const operations: Readonly<Record<string, (options: object) => Promise<Outcome>>> = await import(
  pathToFileURL(`${folder}/sdk.gen.ts`).href
);
const { client }: { client: { setConfig(config: object): void } } = await import(pathToFileURL(`${folder}/client.gen.ts`).href);
const steps: readonly Step[] = JSON.parse(readFileSync(scenarioFile, 'utf8'));

const kept: Record<string, unknown> = { run: crypto.randomUUID() };
client.setConfig({
  baseUrl,
  auth: ({ name }: { name: string }) => (name === 'Authorization' ? `Workflow ${kept.workflowToken}` : serviceToken),
});

/** With what earlier steps have kept in place of its `$name`s. */
const filled = (value: unknown): unknown => {
  if (typeof value === 'string') return value.startsWith('$') ? kept[value.slice(1)] : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(filled);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member)]));
};

const membersOf = (value: unknown): Readonly<Record<string, unknown>> => (typeof value === 'object' && value !== null ? { ...value } : {});

async function faultOf({ status, answer = {}, bytes }: Step, { data, error, response }: Outcome): Promise<string | undefined> {
  if (response.status !== status) return `${response.status} instead of ${status}: ${JSON.stringify(error)}`;
  if (bytes !== undefined) {
    if (!(data instanceof Blob)) return `no file, but ${typeof data}`;
    const received = Buffer.from(await data.arrayBuffer()).toString('base64');
    return received === '' || (bytes !== '' && received !== bytes) ? `other bytes: ${received.slice(0, 40)}` : undefined;
  }
  if ((data ?? error) === undefined) return 'nothing was read of the answer';
  const wrong = Object.entries(answer).find(([name, expected]) => membersOf(data)[name] !== filled(expected));
  return wrong && `${wrong[0]} is ${JSON.stringify(membersOf(data)[wrong[0]])}`;
}

for (const step of steps) {
  const { operation, path, query, headers, body, content, keep = {} } = step;
  const call = operations[operation];
  const outcome = await call?.({
    path: filled(path),
    query,
    headers: filled(headers),
    body: content === undefined ? filled(body) : new Blob([Buffer.from(content, 'base64')]),
  });
  const fault = outcome ? await faultOf(step, outcome) : 'the client has no such operation';
  console.log(`${operation}: ${fault ?? 'ok'}`);
  if (fault !== undefined) process.exitCode = 1;
  for (const [name, member] of Object.entries(keep)) {
    const value = membersOf(outcome?.data)[member];
    kept[name] = member.endsWith('_url') ? String(value).split('/').at(-1) : value;
  }
}
