import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { mockProviderName } from '../domain/mock-token.ts';
import { type CallerKind, callerKinds } from '../domain/stamp.ts';
import { createTrustStore, type TrustMaterial, TrustMaterialError } from '../rfc3161/index.ts';
import { ConfigError } from '../runtime/config.ts';
import { checkDrift, type KeySettings, keyMembers, keySettingsOf } from './key-entry.ts';

const auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('basic'), username: z.string().min(1), password_file: z.string().min(1) }),
  z.strictObject({ type: z.literal('bearer'), token_file: z.string().min(1) }),
  z.strictObject({ type: z.literal('client_certificate'), certificate_file: z.string().min(1), key_file: z.string().min(1) }),
]);

const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'takes 1 to 64 characters of a-z 0-9 . _ -')
  .refine((text) => text !== mockProviderName, 'takes another name: "mock" is the mock provider');
const oid = z.string().regex(/^[0-2](\.(0|[1-9]\d*))+$/, 'takes an object identifier');

/** Settings of batches: one request to the provider for all waiting stamps (S14). */
export interface AggregateSettings {
  /** The maximum number of stamps in one request. */
  readonly maxLeaves: number;
  /** How long the first stamp of a batch waits for others, in milliseconds. */
  readonly windowMs: number;
  readonly callers: readonly CallerKind[];
}

/** The number of requests that a provider allows in any period of this length. */
export interface RateSettings {
  readonly requests: number;
  readonly perSeconds: number;
}

/** The callers whose stamps may be leaves of a batch. A client of the RFC 3161 endpoint (`tsa`) needs an answer to its own request. */
const batchedCallers = callerKinds.filter((kind) => kind !== 'tsa');

const aggregateMembers = z.strictObject({
  max_leaves: z.int().min(1).max(65_536).default(4_096),
  window_ms: z.int().min(0).max(1_000).default(0),
  callers: z.array(z.enum(batchedCallers)).default([...batchedCallers]),
});

/** The member `aggregate` of an entry. The result is undefined if it is absent. */
const aggregate = aggregateMembers
  .transform(({ max_leaves, window_ms, callers }): AggregateSettings => ({ maxLeaves: max_leaves, windowMs: window_ms, callers }))
  .nullish()
  .transform((given) => given ?? undefined);

/** The member `rate` of an entry. The result is undefined if it is absent. */
const rate = z
  .strictObject({ requests: z.int().min(1).max(100_000), per_seconds: z.int().min(1).max(86_400) })
  .transform(({ requests, per_seconds }): RateSettings => ({ requests, perSeconds: per_seconds }))
  .nullish()
  .transform((given) => given ?? undefined);

const tsaEntry = z.strictObject({
  type: z.literal('rfc3161'),
  name,
  url: z.url({ protocol: /^https?$/ }),
  qualified: z.union([z.boolean(), z.literal('from_list')], 'takes true, false or "from_list"').default(false),
  policy_oid: oid.nullish(),
  hash: z.literal('sha256', 'takes "sha256": clients submit SHA-256 hashes').default('sha256'),
  trust_anchors_file: z.string().min(1),
  intermediates_file: z.string().min(1).nullish(),
  crl_file: z.string().min(1).nullish(),
  auth: auth.default({ type: 'none' }),
  timeout_ms: z.int().min(100).max(120_000).default(5_000),
  max_concurrent: z.int().min(1).max(1_000).default(16),
  accept_granted_with_mods: z.boolean().default(false),
  max_accuracy_seconds: z.number().positive().nullish(),
  policy_accuracy_seconds: z.number().positive().nullish(),
  aggregate,
  rate,
});

const keyEntry = z.strictObject({ type: z.literal('key'), name, policy_oid: oid, aggregate, ...keyMembers }).check(checkDrift);

/** An entry of the file. An entry without `type` is a TSA over HTTP. */
const entry = z.preprocess(
  (given) => (typeof given === 'object' && given !== null && !('type' in given) ? { type: 'rfc3161', ...given } : given),
  z.discriminatedUnion('type', [tsaEntry, keyEntry], 'takes an entry whose type is "rfc3161" or "key"'),
);

const fileSchema = z
  .array(entry)
  .min(1, 'takes at least one provider')
  .refine((entries) => new Set(entries.map(({ name }) => name)).size === entries.length, 'takes each name once');

/** How to authenticate to a provider. Secrets stay in the named files (absolute paths): only workers read them. */
type ProviderAuth =
  | { readonly type: 'none' }
  | { readonly type: 'basic'; readonly username: string; readonly passwordFile: string }
  | { readonly type: 'bearer'; readonly tokenFile: string }
  | { readonly type: 'client_certificate'; readonly certificateFile: string; readonly keyFile: string };

/**
 * Who says that a provider is qualified: the operator (`true`), nobody (`false`), or only a trusted list (`from_list`). A list that knows the provider
 * always wins.
 */
export type QualifiedSetting = boolean | 'from_list';

/** The settings that every entry of the providers file has. They contain the provider's certificates and revocation lists, but no secrets. */
interface CommonSettings {
  readonly name: string;
  readonly qualified: QualifiedSetting;
  readonly policyOid: string | undefined;
  /** PEM; never empty. */
  readonly trustAnchorsPem: string;
  readonly intermediatesPem: string | undefined;
  /** DER or PEM. */
  readonly crl: Buffer | undefined;
  readonly timeoutMs: number;
  readonly maxConcurrent: number;
  /** Whether a TSA may grant something different from the request (grantedWithMods). The default is false. */
  readonly acceptGrantedWithMods?: boolean;
  readonly maxAccuracySeconds?: number | undefined;
  /** The accuracy that the TSA's policy promises. It counts for tokens that do not state an accuracy. */
  readonly policyAccuracySeconds?: number | undefined;
  /** Undefined: one request for each stamp. */
  readonly aggregate: AggregateSettings | undefined;
  /** Undefined: as many requests as `maxConcurrent` lets through. */
  readonly rate?: RateSettings | undefined;
}

/** A TSA over HTTP. */
export interface TsaSettings extends CommonSettings {
  readonly type: 'rfc3161';
  readonly url: string;
  readonly auth: ProviderAuth;
}

/** An own signing key. It always has a policy. */
export type KeyProviderSettings = CommonSettings & KeySettings & { readonly policyOid: string };

export type ProviderSettings = TsaSettings | KeyProviderSettings;

const wrong = (file: string, place: string, what: string) => new ConfigError(`TSP_PROVIDERS_FILE: ${file}${place}: ${what}`);

function readJson(file: string): unknown {
  try {
    // Some editors write a byte order mark, which JSON does not have. `trim` removes it too.
    return JSON.parse(readFileSync(file, 'utf8').trim());
  } catch (error) {
    // The parser's message quotes the file and may have several lines, but a ConfigError has only one line.
    throw wrong(file, '', `cannot be read as JSON (${String(error instanceof Error ? error.message : error).replace(/\s+/g, ' ')})`);
  }
}

/** Returns the place of an error for the message: the name of the entry (or its index) and the member, such as ` (acme).auth.username`. */
function placeOf(path: readonly PropertyKey[], given: unknown): string {
  const [index, ...members] = path;
  if (typeof index !== 'number' || !Array.isArray(given)) return '';
  const named = z.object({ name: z.string() }).safeParse(given[index]);
  return [named.success ? ` (${named.data.name})` : ` [${index}]`, ...members.map((member) => `.${String(member)}`)].join('');
}

const faultOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'unrecognized_keys' ? `has an unknown member: ${issue.keys.map((key) => `"${key}"`).join(', ')}` : issue.message;

/**
 * Reads the providers file. The most preferred provider comes first. Paths in the file are relative to its folder.
 *
 * @throws ConfigError that names the entry and the member; also if a provider has no trust anchor
 */
export function loadProvidersFile(file: string): ProviderSettings[] {
  const given = readJson(file);
  const parsed = fileSchema.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw wrong(file, placeOf(issue?.path ?? [], given), issue ? faultOf(issue) : 'is wrong');
  }
  const locate = (path: string) => resolve(dirname(file), path);
  return parsed.data.map((provider) => {
    const read = (path: string, member: string, materialOf: (bytes: Buffer) => TrustMaterial): Buffer => {
      try {
        const bytes = readFileSync(locate(path));
        createTrustStore(materialOf(bytes));
        return bytes;
      } catch (error) {
        const why = error instanceof TrustMaterialError ? `cannot be used: ${error.message}` : 'cannot be read';
        throw wrong(file, ` (${provider.name}).${member}`, `"${path}" ${why}`);
      }
    };
    const readPem = (path: string, member: string, kind: 'anchors' | 'intermediates' = 'anchors'): string =>
      read(path, member, (bytes) => ({ anchors: [], [kind]: [bytes.toString('utf8')] })).toString('utf8');
    const common = {
      name: provider.name,
      aggregate: provider.aggregate,
      crl: provider.crl_file ? read(provider.crl_file, 'crl_file', (crl) => ({ anchors: [], crls: [crl] })) : undefined,
    };
    if (provider.type === 'key') {
      return { ...common, policyOid: provider.policy_oid, ...keySettingsOf(provider, locate, readPem) };
    }
    return {
      ...common,
      policyOid: provider.policy_oid ?? undefined,
      type: provider.type,
      url: provider.url,
      rate: provider.rate,
      qualified: provider.qualified,
      trustAnchorsPem: readPem(provider.trust_anchors_file, 'trust_anchors_file'),
      intermediatesPem: provider.intermediates_file
        ? readPem(provider.intermediates_file, 'intermediates_file', 'intermediates')
        : undefined,
      auth: authOf(provider.auth, locate),
      timeoutMs: provider.timeout_ms,
      maxConcurrent: provider.max_concurrent,
      acceptGrantedWithMods: provider.accept_granted_with_mods,
      maxAccuracySeconds: provider.max_accuracy_seconds ?? undefined,
      policyAccuracySeconds: provider.policy_accuracy_seconds ?? undefined,
    };
  });
}

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
