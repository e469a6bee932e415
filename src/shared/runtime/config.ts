import { createSecretKey, type KeyObject } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { hasBareAccount, isBareMongo, isLoopback } from './server-addresses.ts';

/** The service token for development, used if `SERVICE_TOKENS` is not set. */
export const developmentToken = { product: 'dev', token: 'dev-service-token' };

const integer = (low: number, high: number) =>
  z
    .string()
    .regex(/^\d+$/, `takes a whole number from ${low} to ${high}`)
    .transform(Number)
    .refine((value) => value >= low && value <= high, `takes a whole number from ${low} to ${high}`);

const setting = (low: number, high: number, fallback: number) => integer(low, high).default(fallback);

const flag = z
  .enum(['0', '1'], 'takes 0 or 1')
  .default('0')
  .transform((given) => given === '1');

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean),
);

const url = (protocols: readonly string[]) =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && protocols.includes(new URL(text).protocol),
      `takes an address that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    );

/** An address whose user and password are percent-encoded. */
const account = z
  .string()
  .refine(
    (text) => !hasBareAccount(text),
    'takes a user and a password in percent-encoding: write @ as %40, / as %2F, # as %23, ? as %3F, % as %25',
  );

const readableFile = z.string().refine(isReadable, 'takes the path of a readable file');

/** Servers as `host:port`, separated by commas. */
const serverList = list
  .transform((items) => items.map((item) => URL.parse(`redis://${item}`)))
  .refine(
    (urls) => urls.length > 0 && urls.every((each) => each?.hostname && each.port && each.host === each.href.slice('redis://'.length)),
    'takes servers separated by commas, each as host:port',
  )
  .transform((urls) => urls.map((each) => ({ host: each!.hostname.replace(/^\[|\]$/g, ''), port: Number(each!.port) })));

const line = z.string().regex(/^\P{Cc}{1,200}$/u, 'takes one line of at most 200 characters');

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** A caller of the internal endpoints: its service token and its product (S13). */
export interface ServiceToken {
  readonly product: string;
  readonly token: string;
}

const serviceTokens = z.string().transform((text, context): ServiceToken[] => {
  const tokens = text.split(',').map((pair) => {
    const colon = pair.indexOf(':');
    return { product: pair.slice(0, Math.max(colon, 0)).trim(), token: pair.slice(colon + 1).trim() };
  });
  const distinct = new Set(tokens.map(({ token }) => token));
  if (
    tokens.some(({ product, token }) => !/^[A-Za-z0-9._-]{1,64}$/.test(product) || !/^[\x21-\x7e]+$/.test(token)) ||
    distinct.size !== tokens.length
  ) {
    context.addIssue({ code: 'custom', message: 'takes product:token pairs separated by commas, each token once' });
  }
  return tokens;
});

/** A master key: 32 bytes in standard base64. */
const masterKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, 'takes 32 bytes as base64, as `openssl rand -base64 32` prints them')
  .transform((text): KeyObject => createSecretKey(text, 'base64'));

/** Keys in the format of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. Several keys are allowed during a key change. */
const webhookSecrets = z.string().transform((text, context): Buffer[] => {
  const secrets = text.split(/[\s,]+/).filter(Boolean);
  const keys = secrets.map((secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'));
  const isRight =
    secrets.every((secret) => /^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) && keys.every(({ length }) => length >= 24 && length <= 64);
  if (!isRight || keys.length === 0) {
    context.addIssue({
      code: 'custom',
      message: 'takes whsec_ and 24 to 64 bytes as base64, as `echo whsec_$(openssl rand -base64 32)` prints them',
    });
  }
  return keys;
});

const addressOrRange = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const addressList = list.refine(
  (items) => items.every((item) => addressOrRange.safeParse(item).success),
  'takes a comma-separated list of addresses or CIDRs',
);

/** Origins as browsers write them in `Origin`: a scheme, a host, and a port if it is not the default. */
const originList = list.refine(
  (items) => items.every((item) => URL.canParse(item) && new URL(item).origin === item),
  'takes origins separated by commas, such as https://app.example',
);

const addressesOfLists = list.refine(
  (items) => items.length > 0 && items.every((item) => /^https?:$/.test(URL.parse(item)?.protocol ?? '')),
  'takes addresses of the list of lists, separated by commas, such as https://ec.europa.eu/tools/lotl/eu-lotl.xml',
);

/**
 * The highest value of SEALED_MAX_BYTES. Content is base64 in a body that Node.js holds as one text of at most 2^29 − 24 characters, and some clients
 * write each `/` as two characters (`\/`).
 */
const mostSealedBytes = 200_000_000;

/** The settings of Redis. `REDIS_URL` alone is one server; with the others, it gives only user, password, database and whether there is TLS. */
const redisSchema = z.object({
  REDIS_URL: account.pipe(url(['redis:', 'rediss:'])).optional(),
  REDIS_TLS_CA_FILE: readableFile.optional(),
  REDIS_TLS_CERT_FILE: readableFile.optional(),
  REDIS_TLS_KEY_FILE: readableFile.optional(),
  REDIS_TLS_SERVERNAME: line.optional(),
  REDIS_SENTINELS: serverList.optional(),
  REDIS_SENTINEL_NAME: line.default('mymaster'),
  REDIS_SENTINEL_USERNAME: line.optional(),
  REDIS_SENTINEL_PASSWORD: line.optional(),
  REDIS_SENTINEL_TLS: flag,
  REDIS_CLUSTER_NODES: serverList.optional(),
  REDIS_KEY_PREFIX: z
    .string()
    .regex(/^[\w.-]{1,64}$/, 'takes 1 to 64 letters, digits, dots, dashes and underscores')
    .default('qstamp'),
  REDIS_REPLICAS_ACK: setting(0, 9, 0),
});
export type RedisSettings = z.output<typeof redisSchema>;

/** Every environment variable of the service, parsed from text to typed values. A test compares them with the table in docs/operators/settings.md. */
export const settingsSchema = z.object({
  NODE_ENV: z.enum(['development', 'production', 'test'], 'takes development, test or production').default('development'),
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: setting(0, 65535, 8080),
  DRAIN_MS: setting(0, 10_000, 1_000),
  PUBLIC_BASE_URL: url(['http:', 'https:'])
    .refine((text) => !/[?#]/.test(text), 'takes an address without a query')
    .transform((text) => (text.endsWith('/') ? text.slice(0, -1) : text))
    .optional(),
  ...redisSchema.shape,
  // Node.js cannot parse an address with several hosts, so only the start is checked here. The driver checks the rest (`connectStore`).
  MONGODB_URL: account.regex(/^mongodb(\+srv)?:\/\/[^\s/?#]+/, 'takes an address that starts with mongodb:// or mongodb+srv://'),
  ALLOW_PLAINTEXT_BACKENDS: flag,
  // There is no default, not even for development, because a known key protects nothing. `npm start` makes a key.
  MASTER_KEY: masterKey,
  SERVICE_TOKENS: serviceTokens.default([developmentToken]),
  TSP: z.enum(['mock', 'local', 'file'], 'takes mock, local or file').default('mock'),
  TSP_PROVIDERS_FILE: z.string().min(1).optional(),
  TRUST_ANCHORS_FILE: z.string().min(1).optional(),
  INTERMEDIATES_FILE: z.string().min(1).optional(),
  IGNORE_CA_PURPOSES: flag,
  LOTL_SIGNERS_FILE: z.string().min(1).optional(),
  TRUSTED_LIST_URLS: addressesOfLists.optional(),
  TRUSTED_LISTS_FILE: z.string().min(1).optional(),
  STAMP_WAIT_MS: setting(1, 600_000, 10_000),
  SEALED_MAX_BYTES: setting(0, mostSealedBytes, 10_485_760),
  QUEUE_MAX_DEPTH: setting(1, 10_000_000, 50_000),
  WORKER_CONCURRENCY: setting(1, 10_000, 256),
  TRUST_PROXY: addressList.default([]),
  MCP_ORIGINS: originList.default([]),
  CORS_ORIGINS: originList.default([]),
  SMTP_URL: url(['smtp:', 'smtps:'])
    .refine((text) => /^smtps?:\/\/[^/?#]/.test(text), 'takes an address with a host')
    .optional(),
  WEBHOOK_SECRET: webhookSecrets.optional(),
  MAIL_FROM: z.string().min(3, 'takes an e-mail address, with or without a name before it').optional(),
  WORKFLOW_TTL_HOURS: setting(1, 87_600, 168),
  OTP_TTL_MINUTES: setting(1, 10_080, 4_320),
  CONFIRM_WITH: z.enum(['link', 'button'], 'takes link or button').default('link'),
  RATE_WORKFLOW_START_PER_HOUR: setting(0, 1_000_000, 5),
  RATE_RECIPIENT_PER_HOUR: setting(0, 1_000_000, 10),
  RATE_RECIPIENT_PER_DAY: setting(0, 1_000_000, 30),
  RATE_WORKFLOW_STAMP_PER_MINUTE: setting(0, 1_000_000, 100),
  RATE_STATUS_PER_MINUTE: setting(0, 1_000_000, 30),
  RATE_AGENT_PER_MINUTE: setting(0, 1_000_000, 600),
  RATE_INTERNAL_PER_MINUTE: setting(0, 1_000_000, 0),
  RATE_VERIFY_PER_MINUTE: setting(0, 1_000_000, 600),
  RATE_SEALED_BYTES_PER_HOUR: setting(0, Number.MAX_SAFE_INTEGER, 209_715_200),
  RATE_WORKFLOW_PAGE_PER_MINUTE: setting(0, 1_000_000, 120),
  RATE_WRONG_TOKEN_PER_MINUTE: setting(0, 1_000_000, 300),
  RATE_UNKNOWN_ID_PER_MINUTE: setting(0, 1_000_000, 300),
  RATE_TSA_PER_MINUTE: setting(0, 1_000_000, 600),
  TSA_DOOR: z.enum(['public', 'token', 'off'], 'takes public, token or off').optional(),
  RENEW_BEFORE_DAYS: setting(1, 3_650, 90),
  METRICS_PORT: integer(0, 65535).optional(),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'takes fatal, error, warn, info, debug, trace or silent')
    .default('info'),
  IDEMPOTENCY_TTL_HOURS: setting(1, 8_760, 24),
  OPERATOR_NAME: line.optional(),
  OPERATOR_URL: url(['http:', 'https:']).optional(),
  OPERATOR_CONTACT: line.optional(),
});

type Settings = z.output<typeof settingsSchema>;

/** The settings of one process, with their defaults filled in. */
export type Config = Settings & { readonly TSA_DOOR: NonNullable<Settings['TSA_DOOR']> };

/** The settings that contain secrets. Each may be read from the file in `<NAME>_FILE`. They are never printed. */
export const secretSettings = [
  'REDIS_URL',
  'REDIS_SENTINEL_PASSWORD',
  'MONGODB_URL',
  'MASTER_KEY',
  'NEW_MASTER_KEY',
  'SERVICE_TOKENS',
  'SMTP_URL',
  'WEBHOOK_SECRET',
] as const;

/** The error for a wrong setting, which prevents the start. The message is one line and names the variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Returns the environment, with secrets read from their files.
 *
 * @throws ConfigError if a file cannot be read, or if a secret is also set directly
 */
export function withSecretFiles(environment: Environment, names: readonly string[] = secretSettings): Record<string, string | undefined> {
  const settings: Record<string, string | undefined> = { ...environment };
  for (const name of secretSettings.filter((secret) => names.includes(secret))) {
    const file = environment[`${name}_FILE`];
    if (!file) continue;
    if (environment[name]) throw new ConfigError(`${name}_FILE: got a file, but ${name} is set too; set only one of them`);
    settings[name] = readSetting(`${name}_FILE: got "${file}"; it`, file, textOf);
  }
  return settings;
}

/**
 * Makes something from a file that a setting names.
 *
 * @param place the beginning of the error: the setting, and the file in it
 * @throws ConfigError if the file cannot be read, or `use` throws
 */
export function readSetting<T>(place: string, path: string, use: (bytes: Buffer) => T): T {
  let fault = 'cannot be read';
  try {
    const bytes = readFileSync(path);
    fault = 'cannot be used';
    return use(bytes);
  } catch (error) {
    throw new ConfigError(fault === 'cannot be read' ? `${place} ${fault}` : `${place} ${fault}: ${messageOf(error)}`);
  }
}

/** The text of a file. `trim` also removes the byte order mark that some editors write. */
export const textOf = (bytes: Buffer): string => bytes.toString('utf8').trim();

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Reads a JSON file that a setting names.
 *
 * @throws ConfigError with the entry (its name, or its index) and the member, such as ` (acme).auth.username`
 */
export function readJsonSetting<Schema extends z.ZodType>(name: keyof Settings, path: string, schema: Schema): z.output<Schema> {
  const place = `${name}: ${path}`;
  let given: unknown;
  try {
    given = JSON.parse(textOf(readFileSync(path)));
  } catch (error) {
    // The parser's message quotes the file and may have several lines, but a ConfigError has only one line.
    throw new ConfigError(`${place}: cannot be read as JSON (${messageOf(error).replace(/\s+/g, ' ')})`);
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const [index, ...members] = issue.path;
  const named = z.object({ name: z.string() }).safeParse(Array.isArray(given) && given[Number(index)]);
  const entry = index === undefined ? '' : named.success ? ` (${named.data.name})` : ` [${String(index)}]`;
  const isUnknown = issue.code === 'unrecognized_keys';
  const what = isUnknown ? `has an unknown member: ${issue.keys.map((key) => `"${key}"`).join(', ')}` : issue.message;
  throw new ConfigError(`${place}${[entry, ...members.map(String)].join('.')}: ${what}`);
}

/**
 * Reads the variables of `schema` from the environment, and secrets also from their files. An empty variable counts as not set.
 *
 * @throws ConfigError one line: the variable, and either that it is not set, or its value (secrets are not shown) and what it takes
 */
export function parseSettings<Schema extends z.ZodObject>(schema: Schema, environment: Environment): z.output<Schema> {
  const names = Object.keys(schema.shape);
  const settings = withSecretFiles(environment, names);
  const given = Object.fromEntries(names.map((name) => [name, settings[name] || undefined]));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const name = String(issue?.path[0]);
  const value = given[name];
  if (value === undefined) throw new ConfigError(`${name} is not set, and the settings of the service are needed here`);
  const got = (secretSettings as readonly string[]).includes(name) ? 'a value (not shown)' : `"${value}"`;
  throw new ConfigError(`${name}: got ${got}; it ${issue?.message}`);
}

/**
 * Reads only the settings of Redis, for commands that need no others.
 *
 * @throws ConfigError see `parseSettings`
 */
export function loadRedisSettings(environment: Environment): RedisSettings {
  const settings = parseSettings(redisSchema, environment);
  const fault = faultOfRedis(settings);
  if (fault !== undefined) throw new ConfigError(fault);
  return settings;
}

/** Returns what is wrong with the settings of Redis together: one line that names a setting. Undefined if they fit. */
function faultOfRedis(settings: RedisSettings): string | undefined {
  const { REDIS_URL, REDIS_SENTINELS, REDIS_CLUSTER_NODES, REDIS_TLS_CERT_FILE, REDIS_TLS_KEY_FILE, REDIS_REPLICAS_ACK } = settings;
  if (REDIS_SENTINELS && REDIS_CLUSTER_NODES)
    return 'REDIS_SENTINELS: got servers, but REDIS_CLUSTER_NODES is set too; set only one of them';
  if (!REDIS_URL && !REDIS_SENTINELS && !REDIS_CLUSTER_NODES) {
    return 'REDIS_URL is not set, and the settings of the service are needed here (or REDIS_SENTINELS or REDIS_CLUSTER_NODES)';
  }
  const database = URL.parse(REDIS_URL ?? '')?.pathname.slice(1) ?? '';
  if (!/^\d*$/.test(database)) return 'REDIS_URL: got a value (not shown); its path takes the number of a database';
  if (REDIS_CLUSTER_NODES && Number(database) > 0)
    return 'REDIS_URL: got a database; a Cluster has only number 0, so set REDIS_KEY_PREFIX instead';
  if (REDIS_CLUSTER_NODES && REDIS_REPLICAS_ACK > 0) {
    return `REDIS_REPLICAS_ACK: got "${REDIS_REPLICAS_ACK}"; with REDIS_CLUSTER_NODES it takes 0, because a Cluster cannot confirm a job by its replicas`;
  }
  if (Boolean(REDIS_TLS_CERT_FILE) !== Boolean(REDIS_TLS_KEY_FILE)) {
    return `${REDIS_TLS_CERT_FILE ? 'REDIS_TLS_KEY_FILE' : 'REDIS_TLS_CERT_FILE'}: got nothing; a certificate and its key belong together`;
  }
  const isPlain = !REDIS_URL?.startsWith('rediss:') && !settings.REDIS_SENTINEL_TLS;
  const unused = tlsSettings.find((name) => settings[name] !== undefined);
  if (isPlain && unused) return `${unused}: got a value, but no connection uses TLS; REDIS_URL takes rediss:// for that`;
  return undefined;
}

const tlsSettings = ['REDIS_TLS_CA_FILE', 'REDIS_TLS_CERT_FILE', 'REDIS_TLS_KEY_FILE', 'REDIS_TLS_SERVERNAME'] as const;

/**
 * Reads and checks the settings once, at the start.
 *
 * @throws ConfigError see `parseSettings`
 */
export function loadConfig(environment: Environment): Config {
  const config: Settings = parseSettings(settingsSchema, environment);
  // In production, the RFC 3161 endpoint is off until the operator opens it explicitly.
  const TSA_DOOR = config.TSA_DOOR ?? (config.NODE_ENV === 'production' ? 'off' : 'public');
  const unnamed = (['OPERATOR_URL', 'OPERATOR_CONTACT'] as const).find((name) => config[name] !== undefined);
  if (unnamed && config.OPERATOR_NAME === undefined) throw new ConfigError(`OPERATOR_NAME: got nothing; ${unnamed} needs it too`);
  const fault = faultOfRedis(config) ?? (config.NODE_ENV === 'production' ? faultInProduction(config, environment) : undefined);
  if (fault !== undefined) throw new ConfigError(fault);
  return { ...config, TSA_DOOR };
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Service tokens that our documents print, or once printed: everyone knows them. A test looks for others in the documents. */
const printedTokens = ['dev-service-token', '0123456789abcdef0123456789abcdef'];

const fewestTokenCharacters = 32;

const fewestDifferentCharacters = 16;

/**
 * Returns why production does not start with these settings (S13): one line that names the setting, without secrets. Undefined if it starts.
 * `environment`: the variables as given, without defaults.
 */
function faultInProduction(settings: Settings, environment: Environment): string | undefined {
  const { SMTP_URL, PUBLIC_BASE_URL } = settings;
  if (!environment.SERVICE_TOKENS && !environment.SERVICE_TOKENS_FILE)
    return 'SERVICE_TOKENS: got nothing; production needs its own product:token pairs';
  for (const { product, token } of settings.SERVICE_TOKENS) {
    const fault = faultOfToken(token);
    if (fault !== undefined) return `SERVICE_TOKENS: got ${fault.got} for "${product}"; production takes ${fault.takes}`;
  }
  const [first, ...others] = settings.MASTER_KEY.export();
  if (others.every((octet) => octet === first)) {
    return 'MASTER_KEY: got a key whose bytes are all alike (not shown); production takes random ones, as `openssl rand -base64 32` prints them';
  }
  if (!environment.TSP) return 'TSP: got nothing; production takes file, or mock or local if set explicitly';
  if (SMTP_URL?.startsWith('smtp://') && !new URL(SMTP_URL).searchParams.has('plain')) {
    return 'SMTP_URL: got plain smtp://; production takes smtps://, or smtp://…?plain if set explicitly';
  }
  if (SMTP_URL && !PUBLIC_BASE_URL) return 'PUBLIC_BASE_URL: got nothing; production takes the address for the links in its e-mails';
  if (SMTP_URL && !PUBLIC_BASE_URL?.startsWith('https:')) {
    return `PUBLIC_BASE_URL: got "${PUBLIC_BASE_URL}"; production takes https:// for the links in its e-mails`;
  }
  const wide = settings.TRUST_PROXY.find(isTooWide);
  if (wide !== undefined) return `TRUST_PROXY: got "${wide}", which has addresses of strangers; production takes only those of its proxies`;
  if (settings.ALLOW_PLAINTEXT_BACKENDS) return undefined;
  const bare = 'got an address on another host without TLS and without password (not shown)';
  const explicitly = 'or ALLOW_PLAINTEXT_BACKENDS=1 if set explicitly';
  if (isBareRedis(settings)) return `REDIS_URL: ${bare}; production takes rediss://, or a password, ${explicitly}`;
  if (isBareMongo(settings.MONGODB_URL)) return `MONGODB_URL: ${bare}; production takes tls=true, or a password, ${explicitly}`;
  return undefined;
}

/** Whether a server of Redis on another host is used without TLS and without a password. */
function isBareRedis({ REDIS_URL, REDIS_SENTINELS, REDIS_CLUSTER_NODES }: RedisSettings): boolean {
  const { protocol = 'redis:', hostname = '', password = '' } = URL.parse(REDIS_URL ?? '') ?? {};
  const hosts = (REDIS_SENTINELS ?? REDIS_CLUSTER_NODES)?.map(({ host }) => host) ?? [hostname];
  return protocol === 'redis:' && password === '' && !hosts.every(isLoopback);
}

function faultOfToken(token: string): { got: string; takes: string } | undefined {
  if (token.length < fewestTokenCharacters) {
    return { got: `a token of ${token.length} characters`, takes: `at least ${fewestTokenCharacters}, and not the development default` };
  }
  if (printedTokens.includes(token)) return { got: 'a token that is printed in our documents', takes: 'a token that only you know' };
  // There are only 16 hexadecimal digits, so in hexadecimal tokens and UUIDs pairs of digits count.
  const digits = token.replaceAll('-', '');
  const isHex = /^[\da-f]+$/i.test(digits);
  const characters = isHex ? [...digits].map((digit, at) => digit + digits.charAt(at + 1)) : [...token];
  const different = new Set(characters).size;
  if (different >= fewestDifferentCharacters) return undefined;
  const takes = `at least ${fewestDifferentCharacters}, as \`openssl rand -hex 32\` prints them`;
  return { got: `a token of ${different} different characters`, takes };
}

/** The shortest prefix of a range of proxies: `10.0.0.0/8` and `fc00::/7` are private. */
const shortestPrefix = { ipv4: 8, ipv6: 7 };

/** Whether a range has addresses of strangers too. An IPv4 address may be written as the IPv6 address that maps it. */
function isTooWide(range: string): boolean {
  const [address = '', prefix] = range.split('/');
  if (prefix === undefined) return false;
  const parsed = ipaddr.parse(address);
  const isMapped = parsed instanceof ipaddr.IPv6 && Number(prefix) >= 96 && parsed.range() === 'ipv4Mapped';
  return isMapped ? Number(prefix) - 96 < shortestPrefix.ipv4 : Number(prefix) < shortestPrefix[parsed.kind()];
}
