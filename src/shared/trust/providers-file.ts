import { isIPv6 } from 'node:net';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { mockProviderName } from '../domain/mock-token.ts';
import { type CallerKind, callerKinds } from '../domain/stamp.ts';
import { createTrustStore, type TrustMaterial } from '../rfc3161/index.ts';
import { readJsonSetting, readSetting } from '../runtime/config.ts';

const filePath = z.string().min(1);

const auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('basic'), username: z.string().min(1), password_file: filePath }),
  z.strictObject({ type: z.literal('bearer'), token_file: filePath }),
  z.strictObject({ type: z.literal('client_certificate'), certificate_file: filePath, key_file: filePath }),
]);

const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'takes 1 to 64 characters of a-z 0-9 . _ -')
  .refine((text) => text !== mockProviderName, 'takes another name: "mock" is the mock provider');
const oid = z.string().regex(/^[0-2](\.(0|[1-9]\d*))+$/, 'takes an object identifier');

/** Settings of batches: one request to the provider for all waiting stamps (S14). */
export interface AggregateSettings {
  readonly maxLeaves: number;
  /** How long the first stamp of a batch waits for others, in milliseconds. */
  readonly windowMs: number;
  readonly callers: readonly CallerKind[];
}

export interface RateSettings {
  readonly requests: number;
  readonly perSeconds: number;
}

/** The callers whose stamps may be leaves of a batch. A client of the RFC 3161 endpoint (`tsa`) needs an answer to its own request. */
const batchedCallers = callerKinds.filter((kind) => kind !== 'tsa');

const aggregate = z
  .strictObject({
    max_leaves: z.int().min(1).max(65_536).default(4_096),
    window_ms: z.int().min(0).max(1_000).default(0),
    callers: z.array(z.enum(batchedCallers)).default([...batchedCallers]),
  })
  .transform(({ max_leaves, window_ms, callers }): AggregateSettings => ({ maxLeaves: max_leaves, windowMs: window_ms, callers }))
  .nullish()
  .transform((given) => given ?? undefined);

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
  trust_anchors_file: filePath,
  intermediates_file: filePath.nullish(),
  crl_file: filePath.nullish(),
  auth: auth.default({ type: 'none' }),
  timeout_ms: z.int().min(100).max(120_000).default(5_000),
  max_concurrent: z.int().min(1).max(1_000).default(16),
  accept_granted_with_mods: z.boolean().default(false),
  max_accuracy_seconds: z.number().positive().nullish(),
  policy_accuracy_seconds: z.number().positive().nullish(),
  aggregate,
  rate,
});

/** A time server; the default `port` is 123. */
export interface TimeServer {
  /** The text of the entry, as configured. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** `host`, `host:port`, an IPv6 address, or `[address]:port`. */
const timeServer = z.string().transform((name, context): TimeServer => {
  const [, bracketed, plain, port = '123'] = /^(?:\[([0-9a-fA-F:.%]+)\]|([^\s:[\]/]+))(?::(\d{1,5}))?$/.exec(name) ?? [];
  const host = isIPv6(name) ? name : (bracketed ?? plain);
  const portNumber = isIPv6(name) ? 123 : Number(port);
  if (host !== undefined && portNumber > 0 && portNumber < 65_536) return { name, host, port: portNumber };
  context.addIssue({ code: 'custom', message: 'takes a time server as host or host:port' });
  return z.NEVER;
});

const clock = z.union(
  [
    z.literal('unchecked'),
    z.strictObject({
      ntp: z.array(timeServer).min(1, 'takes at least one time server').max(16),
      max_drift_ms: z.int().min(1).max(60_000).nullish(),
    }),
  ],
  'takes {"ntp": ["host or host:port", …], "max_drift_ms": 1 to 60000}, or "unchecked"',
);

const keyEntry = z
  .strictObject({
    type: z.literal('key'),
    name,
    policy_oid: oid,
    aggregate,
    qualified: z.literal(false, 'takes false: an own key is never qualified').default(false),
    key_file: filePath,
    passphrase_file: filePath.nullish(),
    certificates_file: filePath,
    trust_anchors_file: filePath.nullish(),
    crl_file: filePath.nullish(),
    accuracy_ms: z.int().min(1).max(3_600_000).default(1_000),
    clock: clock.nullish(),
  })
  .check(({ value: { accuracy_ms: accuracyMs, clock }, issues }) => {
    const maxDriftMs = typeof clock === 'object' ? clock?.max_drift_ms : undefined;
    if (!maxDriftMs || maxDriftMs <= accuracyMs) return;
    const message = `takes no more than accuracy_ms, which is ${accuracyMs}: tokens would state an accuracy that the clock check does not confirm`;
    issues.push({ code: 'custom', path: ['clock', 'max_drift_ms'], message, input: maxDriftMs });
  });

/** An entry of the file. An entry without `type` is a TSA over HTTP. */
const entry = z.preprocess(
  (given) => (typeof given === 'object' && given !== null && !('type' in given) ? { type: 'rfc3161', ...given } : given),
  z.discriminatedUnion('type', [tsaEntry, keyEntry], 'takes an entry whose type is "rfc3161" or "key"'),
);

const fileSchema = z
  .array(entry)
  .min(1, 'takes at least one provider')
  .refine((entries) => new Set(entries.map(({ name }) => name)).size === entries.length, 'takes each name once');

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

export interface TsaSettings extends CommonSettings {
  readonly type: 'rfc3161';
  readonly url: string;
  /** How to authenticate. Secrets stay in the named files (absolute paths): only workers read them. */
  readonly auth: z.output<typeof auth>;
}

/** An own key, with which the workers sign. It always has a policy. */
export interface KeyProviderSettings extends CommonSettings {
  readonly type: 'key';
  readonly policyOid: string;
  /** Absolute path, as that of the passphrase. Only workers open these files. */
  readonly keyFile: string;
  readonly passphraseFile: string | undefined;
  /** The path as configured, for messages. */
  readonly certificatesFile: string;
  readonly certificatesPem: string;
  readonly accuracyMs: number;
  /** The time servers that confirm the clock. `unchecked`: the operator explicitly wants no check. Undefined: nothing is configured. */
  readonly clock: { readonly ntp: readonly TimeServer[]; readonly maxDriftMs: number } | 'unchecked' | undefined;
}

export type ProviderSettings = TsaSettings | KeyProviderSettings;

/** The default for the allowed drift, in milliseconds. If the stated accuracy is less, that is the default. */
const usualDriftMs = 1_000;
/** This is long for a signature, but a worker that starts may first wait for its time servers. */
const keyTimeoutMs = 5_000;
/** Signatures do not wait for a server, so the number of concurrent ones needs no real limit. */
const keyMaxConcurrent = 100_000;

/**
 * Reads the providers file. The most preferred provider comes first. Paths in the file are relative to its folder.
 *
 * @throws ConfigError that names the entry and the member; also if a provider has no trust anchor
 */
export function loadProvidersFile(file: string): ProviderSettings[] {
  const locate = (path: string) => resolve(dirname(file), path);
  return readJsonSetting('TSP_PROVIDERS_FILE', file, fileSchema).map((provider) => {
    const read = (path: string, member: string, materialOf: (bytes: Buffer) => Partial<TrustMaterial>): Buffer =>
      readSetting(`TSP_PROVIDERS_FILE: ${file} (${provider.name}).${member}: "${path}"`, locate(path), (bytes) => {
        createTrustStore({ anchors: [], ...materialOf(bytes) });
        return bytes;
      });
    const readPem = (path: string, member: string, kind: 'anchors' | 'intermediates' = 'anchors'): string =>
      read(path, member, (bytes) => ({ [kind]: [bytes.toString('utf8')] })).toString('utf8');
    const common = {
      name: provider.name,
      qualified: provider.qualified,
      aggregate: provider.aggregate,
      crl: provider.crl_file ? read(provider.crl_file, 'crl_file', (crl) => ({ crls: [crl] })) : undefined,
    };
    if (provider.type === 'key') {
      const { accuracy_ms: accuracyMs, clock } = provider;
      const certificatesPem = readPem(provider.certificates_file, 'certificates_file');
      return {
        ...common,
        type: 'key',
        policyOid: provider.policy_oid,
        keyFile: locate(provider.key_file),
        passphraseFile: provider.passphrase_file ? locate(provider.passphrase_file) : undefined,
        certificatesFile: provider.certificates_file,
        certificatesPem,
        intermediatesPem: certificatesPem,
        trustAnchorsPem: provider.trust_anchors_file ? readPem(provider.trust_anchors_file, 'trust_anchors_file') : topOf(certificatesPem),
        accuracyMs,
        clock:
          typeof clock === 'object' && clock
            ? { ntp: clock.ntp, maxDriftMs: clock.max_drift_ms ?? Math.min(accuracyMs, usualDriftMs) }
            : (clock ?? undefined),
        timeoutMs: keyTimeoutMs,
        maxConcurrent: keyMaxConcurrent,
      };
    }
    const located = Object.entries(provider.auth).map(([member, value]) => [member, member.endsWith('_file') ? locate(value) : value]);
    return {
      ...common,
      type: 'rfc3161',
      policyOid: provider.policy_oid ?? undefined,
      url: provider.url,
      rate: provider.rate,
      trustAnchorsPem: readPem(provider.trust_anchors_file, 'trust_anchors_file'),
      intermediatesPem: provider.intermediates_file
        ? readPem(provider.intermediates_file, 'intermediates_file', 'intermediates')
        : undefined,
      auth: Object.fromEntries(located) as TsaSettings['auth'],
      timeoutMs: provider.timeout_ms,
      maxConcurrent: provider.max_concurrent,
      acceptGrantedWithMods: provider.accept_granted_with_mods,
      maxAccuracySeconds: provider.max_accuracy_seconds ?? undefined,
      policyAccuracySeconds: provider.policy_accuracy_seconds ?? undefined,
    };
  });
}

/** The last certificate of a chain that begins with the TSA certificate. */
const topOf = (pem: string): string => pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.at(-1) ?? pem;
