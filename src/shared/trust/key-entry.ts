import { isIPv6 } from 'node:net';
import { z } from 'zod';

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

/** The members that only the entry of an own key has. Entries of all providers also have other members. */
export const keyMembers = {
  qualified: z.literal(false, 'takes false: an own key is never qualified').default(false),
  key_file: z.string().min(1),
  passphrase_file: z.string().min(1).nullish(),
  certificates_file: z.string().min(1),
  trust_anchors_file: z.string().min(1).nullish(),
  crl_file: z.string().min(1).nullish(),
  accuracy_ms: z.int().min(1).max(3_600_000).default(1_000),
  clock: clock.nullish(),
};

type KeyEntry = z.output<z.ZodObject<typeof keyMembers>>;

/** Adds an issue if the allowed drift of the clock is more than the accuracy that the tokens state. */
export function checkDrift({ value, issues }: z.core.ParsePayload<Pick<KeyEntry, 'accuracy_ms' | 'clock'>>): void {
  const { accuracy_ms: accuracyMs, clock } = value;
  const maxDriftMs = typeof clock === 'object' ? clock?.max_drift_ms : undefined;
  if (!maxDriftMs || maxDriftMs <= accuracyMs) return;
  const message = `takes no more than accuracy_ms, which is ${accuracyMs}: tokens would state an accuracy that the clock check does not confirm`;
  issues.push({ code: 'custom', path: ['clock', 'max_drift_ms'], message, input: maxDriftMs });
}

/** The time servers that confirm a key's clock. `unchecked`: the operator explicitly wants no check. Undefined: nothing is configured. */
type ClockCheck = { readonly ntp: readonly TimeServer[]; readonly maxDriftMs: number } | 'unchecked' | undefined;

/** The default for the allowed drift, in milliseconds. If the stated accuracy is less, that is the default. */
const usualDriftMs = 1_000;
/** This is long for a signature, but a worker that starts may first wait for its time servers. */
const timeoutMs = 5_000;
/** Signatures do not wait for a server, so the number of concurrent ones needs no real limit. */
const maxConcurrent = 100_000;

/** The settings of an own key, with which the workers sign. */
export type KeySettings = ReturnType<typeof keySettingsOf>;

/** Makes the settings from the entry of a key. `readCertificates` reads and checks the PEM file of a member. */
export function keySettingsOf(
  entry: KeyEntry,
  locate: (path: string) => string,
  readCertificates: (path: string, member: string) => string,
) {
  const certificatesPem = readCertificates(entry.certificates_file, 'certificates_file');
  return {
    type: 'key' as const,
    qualified: false,
    /** Absolute path. Only workers open this file. */
    keyFile: locate(entry.key_file),
    /** Absolute path. Only workers open this file. */
    passphraseFile: entry.passphrase_file ? locate(entry.passphrase_file) : undefined,
    /** The path as configured, for messages. */
    certificatesFile: entry.certificates_file,
    certificatesPem,
    intermediatesPem: certificatesPem,
    trustAnchorsPem: entry.trust_anchors_file ? readCertificates(entry.trust_anchors_file, 'trust_anchors_file') : topOf(certificatesPem),
    accuracyMs: entry.accuracy_ms,
    clock: clockOf(entry),
    timeoutMs,
    maxConcurrent,
  };
}

/** The last certificate of a chain that begins with the TSA certificate. */
function topOf(pem: string): string {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.at(-1) ?? pem;
}

function clockOf({ clock: given, accuracy_ms: accuracyMs }: KeyEntry): ClockCheck {
  if (given === 'unchecked' || !given) return given ?? undefined;
  return { ntp: given.ntp, maxDriftMs: given.max_drift_ms ?? Math.min(accuracyMs, usualDriftMs) };
}
