import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { type CallerKind, callerKinds } from '../domain/caller.ts';
import { mockProviderName } from '../domain/mock-token.ts';
import { createTrustStore, type TrustMaterial, TrustMaterialError } from '../rfc3161/index.ts';
import { ConfigError } from '../runtime/config.ts';

const auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('basic'), username: z.string().min(1), password_file: z.string().min(1) }),
  z.strictObject({ type: z.literal('bearer'), token_file: z.string().min(1) }),
  z.strictObject({ type: z.literal('client_certificate'), certificate_file: z.string().min(1), key_file: z.string().min(1) }),
]);

/** Whose stamps may be leaves of a batch: a client of the RFC 3161 door wants an answer to its own request (T2). */
const batchedCallers = callerKinds.filter((kind) => kind !== 'tsa');

const aggregate = z.strictObject({
  max_leaves: z.int().min(1).max(65_536).default(4_096),
  window_ms: z.int().min(0).max(1_000).default(0),
  callers: z.array(z.enum(batchedCallers)).default([...batchedCallers]),
});

const entry = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'takes 1 to 64 characters of a-z 0-9 . _ -')
    .refine((name) => name !== mockProviderName, 'takes another name: "mock" is the mock provider'),
  url: z.url({ protocol: /^https?$/ }),
  qualified: z.boolean().default(false),
  policy_oid: z
    .string()
    .regex(/^[0-2](\.(0|[1-9]\d*))+$/, 'takes an object identifier')
    .nullish(),
  hash: z.literal('sha256', 'takes "sha256": clients submit SHA-256 hashes').default('sha256'),
  trust_anchors_file: z.string().min(1),
  intermediates_file: z.string().min(1).nullish(),
  crl_file: z.string().min(1).nullish(),
  auth: auth.default({ type: 'none' }),
  timeout_ms: z.int().min(100).max(120_000).default(5_000),
  max_concurrent: z.int().min(1).max(1_000).default(16),
  accept_granted_with_mods: z.boolean().default(false),
  max_accuracy_seconds: z.number().positive().nullish(),
  aggregate: aggregate.nullish(),
});

const fileSchema = z
  .array(entry)
  .min(1, 'takes at least one provider')
  .refine((entries) => new Set(entries.map(({ name }) => name)).size === entries.length, 'takes each name once');

/** How a provider wants to be authenticated to. Secrets stay in the files that are named (absolute paths): only workers read them. */
export type ProviderAuth =
  | { readonly type: 'none' }
  | { readonly type: 'basic'; readonly username: string; readonly passwordFile: string }
  | { readonly type: 'bearer'; readonly tokenFile: string }
  | { readonly type: 'client_certificate'; readonly certificateFile: string; readonly keyFile: string };

/** One entry of the providers file, with the certificates and revocation lists that it refers to and none of the secrets. */
export interface ProviderSettings {
  readonly name: string;
  readonly url: string;
  readonly isQualified: boolean;
  readonly policyOid: string | undefined;
  /** PEM; never empty. */
  readonly trustAnchorsPem: string;
  readonly intermediatesPem: string | undefined;
  /** DER or PEM. */
  readonly crl: Buffer | undefined;
  readonly auth: ProviderAuth;
  readonly timeoutMs: number;
  readonly maxConcurrent: number;
  readonly acceptGrantedWithMods: boolean;
  readonly maxAccuracySeconds: number | undefined;
  /** Undefined: each stamp is asked for by itself. */
  readonly aggregate: AggregateSettings | undefined;
}

/** One request for what waits (S14). */
export interface AggregateSettings {
  /** The most stamps that one request is for. */
  readonly maxLeaves: number;
  /** How long the first stamp waits for others, milliseconds. */
  readonly windowMs: number;
  readonly callers: readonly CallerKind[];
}

const wrong = (file: string, place: string, what: string) => new ConfigError(`TSP_PROVIDERS_FILE: ${file}${place}: ${what}`);

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    // The message of the parser quotes the file and may have several lines; a ConfigError has one.
    throw wrong(file, '', `cannot be read as JSON (${String(error instanceof Error ? error.message : error).replace(/\s+/g, ' ')})`);
  }
}

/** The entry by its name, where it has one, and the member: `(acme).auth.username`. */
function placeOf(path: readonly PropertyKey[], given: unknown): string {
  const [index, ...members] = path;
  if (typeof index !== 'number' || !Array.isArray(given)) return '';
  const named = z.object({ name: z.string() }).safeParse(given[index]);
  return [named.success ? ` (${named.data.name})` : ` [${index}]`, ...members.map((member) => `.${String(member)}`)].join('');
}

const faultOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'unrecognized_keys' ? `has an unknown member: ${issue.keys.map((key) => `"${key}"`).join(', ')}` : issue.message;

/**
 * Reads the providers file, most preferred first; paths in it are relative to it.
 *
 * @throws ConfigError naming the entry and the member; also for a provider without a trust anchor.
 */
export function loadProvidersFile(file: string): ProviderSettings[] {
  const given = readJson(file);
  const parsed = fileSchema.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw wrong(file, placeOf(issue?.path ?? [], given), issue ? faultOf(issue) : 'is wrong');
  }
  return parsed.data.map((provider) => {
    const read = (path: string, member: string, materialOf: (bytes: Buffer) => TrustMaterial): Buffer => {
      const refused = (why: string) => wrong(file, ` (${provider.name}).${member}`, `"${path}" ${why}`);
      try {
        const bytes = readFileSync(resolve(dirname(file), path));
        createTrustStore(materialOf(bytes));
        return bytes;
      } catch (error) {
        throw refused(error instanceof TrustMaterialError ? `cannot be used: ${error.message}` : 'cannot be read');
      }
    };
    const readPem = (path: string, member: string, materialOf: (pem: string) => TrustMaterial): string =>
      read(path, member, (bytes) => materialOf(bytes.toString('utf8'))).toString('utf8');
    const trustAnchorsPem = readPem(provider.trust_anchors_file, 'trust_anchors_file', (pem) => ({ anchors: [pem] }));
    return {
      name: provider.name,
      url: provider.url,
      isQualified: provider.qualified,
      policyOid: provider.policy_oid ?? undefined,
      trustAnchorsPem,
      intermediatesPem: provider.intermediates_file
        ? readPem(provider.intermediates_file, 'intermediates_file', (pem) => ({ anchors: [], intermediates: [pem] }))
        : undefined,
      crl: provider.crl_file ? read(provider.crl_file, 'crl_file', (crl) => ({ anchors: [], crls: [crl] })) : undefined,
      auth: authOf(provider.auth, (path) => resolve(dirname(file), path)),
      timeoutMs: provider.timeout_ms,
      maxConcurrent: provider.max_concurrent,
      acceptGrantedWithMods: provider.accept_granted_with_mods,
      maxAccuracySeconds: provider.max_accuracy_seconds ?? undefined,
      aggregate: aggregateOf(provider.aggregate),
    };
  });
}

const aggregateOf = (given: z.output<typeof aggregate> | null | undefined): AggregateSettings | undefined =>
  given ? { maxLeaves: given.max_leaves, windowMs: given.window_ms, callers: given.callers } : undefined;

function authOf(given: z.output<typeof auth>, locate: (path: string) => string): ProviderAuth {
  switch (given.type) {
    case 'none':
      return given;
    case 'basic':
      return { type: 'basic', username: given.username, passwordFile: locate(given.password_file) };
    case 'bearer':
      return { type: 'bearer', tokenFile: locate(given.token_file) };
    case 'client_certificate':
      return { type: 'client_certificate', certificateFile: locate(given.certificate_file), keyFile: locate(given.key_file) };
  }
}
