import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createPki, type Pki } from './certificates.ts';
import { createFaultyTsaServer, type FaultyTsaServer } from './faulty-tsa.ts';
import { type RunningService, type Settings, startKept } from './service.ts';
import { share } from './shared.ts';

/** The policy of these TSAs. They stand for real ones, so it is not that of the development TSA. */
export const tsaPolicy = '2.999.7.1';

export interface RunningTsa {
  readonly server: FaultyTsaServer;
  readonly pki: Pki;
  readonly url: string;
}

/** Registers a function to run when the test, or its file, ends. */
type OnEnd = (close: () => void | Promise<void>) => void;

/** A TSA with real cryptography that can be made to fail; ends with the test, or by the given `onEnd`. */
export async function startTsa(options: { pki?: Pki; onEnd?: OnEnd; policy?: string } = {}): Promise<RunningTsa> {
  const pki = options.pki ?? createPki({ nowMs: Date.now() });
  const server = createFaultyTsaServer({ pki, clock: Date.now, profile: { policies: [options.policy ?? tsaPolicy] } });
  const url = await server.listen();
  (options.onEnd ?? onTestFinished)(() => server.close());
  return { server, pki, url };
}

export interface ProviderEntry {
  readonly tsa: RunningTsa;
  /** DER of a revocation list for `crl_file`. */
  readonly crl?: Buffer;
  readonly [member: string]: unknown;
}

/** Settings that use these TSAs, in this order, as the providers of a service. */
export function providersSettings(entries: readonly ProviderEntry[], onEnd: OnEnd = onTestFinished): Settings {
  const dir = mkdtempSync(join(tmpdir(), 'qstamp-providers-'));
  onEnd(() => rmSync(dir, { recursive: true }));
  const providers = entries.map(({ tsa, crl, ...members }, index) => {
    const name = `tsa-${index + 1}`;
    writeFileSync(join(dir, `${name}.pem`), tsa.pki.rootPem);
    if (crl) writeFileSync(join(dir, `${name}.crl`), crl);
    return { name, url: tsa.url, crl_file: crl ? `${name}.crl` : null, trust_anchors_file: `${name}.pem`, ...members };
  });
  const file = join(dir, 'providers.json');
  writeFileSync(file, JSON.stringify(providers));
  return { TSP: 'file', TSP_PROVIDERS_FILE: file };
}

/** A service and its TSA. */
export interface TsaService {
  readonly service: RunningService;
  readonly tsa: RunningTsa;
}

async function startShared(provider: object): Promise<TsaService & { end(): Promise<unknown> }> {
  const ends: (() => unknown)[] = [];
  const onEnd: OnEnd = (end) => void ends.push(end);
  const tsa = await startTsa({ onEnd });
  const settings = providersSettings([{ tsa, policy_oid: tsaPolicy, ...provider }], onEnd);
  const service = await startKept({ settings });
  return { tsa, service, end: () => service.stop().then(() => Promise.all(ends.map((end) => end()))) };
}

/** A shared service whose only provider is a TSA with these members. No test makes that TSA fail. */
export const sharedTsaService = (provider: object = {}): Promise<TsaService> =>
  share(
    `of a TSA ${JSON.stringify(provider)}`,
    () => startShared(provider),
    ({ end }) => end(),
  );
