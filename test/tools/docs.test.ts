import { randomBytes } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { REASONS } from '../../src/shared/domain/reasons.ts';
import { ConfigError, loadConfig, settingsSchema } from '../../src/shared/runtime/config.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** `| \`NAME\` | default | meaning |` rows of docs/operators/settings.md, by name. */
const settingRows = new Map(
  [...read('docs/operators/settings.md').matchAll(/^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \| (.*?) \| .* \|$/gm)].flatMap(
    ([, names = '', defaults = '']) => {
      const values = defaults.split(', ');
      return [...names.matchAll(/`([A-Z_]+)`/g)].map(([, name = ''], index) => [name, values[index] ?? defaults] as const);
    },
  ),
);

test('docs/operators/settings.md lists exactly the settings', () => {
  expect([...settingRows.keys()].sort()).toEqual(Object.keys(settingsSchema.shape).sort());
});

test.each(Object.entries(settingsSchema.shape))('docs/operators/settings.md has the default of %s', (name, schema) => {
  const fallback = schema.safeParse(undefined);
  const told = settingRows.get(name)?.replaceAll('`', '');
  if (fallback.success && ['string', 'number'].includes(typeof fallback.data)) expect(told).toBe(String(fallback.data));
});

/** A value with `$(openssl …)` in it, as a shell reads it. */
const inShell = (value: string): string =>
  value.replace(/\$\(openssl rand -(hex|base64) (\d+)\)/, (_, form, bytes) => randomBytes(Number(bytes)).toString(form));

/** `NAME=value` quoted in docs/operators/settings.md, as settings; the other settings are valid in production. */
const settingsIn = (cell: string): Record<string, string>[] =>
  [...cell.matchAll(/`([A-Z_]+)=([^`]*)`/g)].map(([, name = '', value = '']) => ({ [name]: inShell(value) }));
const production = {
  NODE_ENV: 'production',
  REDIS_URL: 'redis://127.0.0.1',
  MONGODB_URL: 'mongodb://127.0.0.1',
  MASTER_KEY: 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
  SERVICE_TOKENS: `acme:${randomBytes(32).toString('hex')}`,
  TSP: 'file',
  TSP_PROVIDERS_FILE: 'providers.json',
  SMTP_URL: 'smtps://mail.example',
  PUBLIC_BASE_URL: 'https://stamps.example',
};
const refusedRows = [...read('docs/operators/settings.md').matchAll(/^\| (`[A-Z_]+=[^|]*) \| ([^|]*) \| [^|]* \|$/gm)];

test.each(refusedRows.map(([, refused = '', taken = '']) => [refused, taken]))(
  'production refuses %s and accepts %s, like docs/operators/settings.md says',
  (refused, taken) => {
    const [setting = {}] = settingsIn(refused);
    const [name = ''] = Object.keys(setting);
    const load = (change: Record<string, string>) => () => loadConfig({ ...production, ...change });
    expect(load(setting)).toThrow(ConfigError);
    expect(load(setting)).toThrow(new RegExp(`^${name}: [^\\n]*$`));
    expect(settingsIn(taken).length).toBeGreaterThan(0);
    for (const other of settingsIn(taken)) expect(load(other), JSON.stringify(other)).not.toThrow();
  },
);

test('production refuses every service token that our documents print (S13)', () => {
  const documents = globSync(['*.md', '.env.example', 'docker-compose.yml', '{docs,clients,examples,config}/**/*.{md,yml,json,example}'], {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    exclude: (path) => path.includes('node_modules'),
  });
  const patterns = [
    /SERVICE_TOKENS=[\w.-]+:([\w.-]+)/g,
    /X-Service-Token: ?([\w.-]+)/gi,
    /service_?token\s*[=:]\s*["']([\w.-]+)["']/gi,
    /QSTAMP_TOKEN=([\w.-]+)/g,
  ];
  const printed = documents.flatMap((path) => {
    const text = read(path);
    return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, token = '']) => token));
  });
  expect(new Set(printed)).toContain('dev-service-token');
  for (const token of new Set(printed)) {
    expect(() => loadConfig({ ...production, SERVICE_TOKENS: `acme:${token}` }), token).toThrow(/^SERVICE_TOKENS: /);
  }
});

test('docs/reference/refusals.md names each reason once, under the number of its refusal (V3)', () => {
  const rows = [...read('docs/reference/refusals.md').matchAll(/^\| (?:(\d+) \| )?[^|]+ \| (`.*`) \|$/gm)];
  const told = rows.flatMap(([, number, codes = '']) =>
    codes.split(', ').map((code) => [code.replaceAll('`', ''), number && Number(number)]),
  );
  expect(told.sort()).toEqual(
    Object.entries(REASONS)
      .map(([code, { refusal }]) => [code, refusal])
      .sort(),
  );
});

test('no cell of docs/reference/decisions.md is longer than 450 characters: details are below the tables', () => {
  const cells = read('docs/reference/decisions.md')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .flatMap((line) => line.split(' | '));
  expect(cells.length).toBeGreaterThan(300);
  expect(cells.filter(({ length }) => length > 450)).toEqual([]);
});

test('every file and folder named in docs/reference/architecture.md exists, and the steps of a stamp are numbered', () => {
  const text = read('docs/reference/architecture.md');
  const named = [...text.matchAll(/`((?:src|test|views|scripts|bin)\/[\w./-]+)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
  const steps = [...text.matchAll(/^(\d+)\. `src\/[^`]+\.ts`/gm)].map(([, number]) => Number(number));
  expect(steps).toEqual(Array.from({ length: steps.length }, (_, index) => index + 1));
  expect(steps.length).toBeGreaterThan(10);
});
