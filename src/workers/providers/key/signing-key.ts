import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto';
import {
  certificatesIn,
  encodeRequest,
  IdentityError,
  identityOf,
  issueResponse,
  type TrustStore,
  type TsaProfile,
  verifyResponse,
} from '../../../shared/rfc3161/index.ts';
import { ConfigError, readSetting } from '../../../shared/runtime/config.ts';
import type { Logger } from '../../../shared/runtime/log.ts';
import { randomSerial } from '../../../shared/runtime/random-octets.ts';
import type { KeyProviderSettings } from '../../../shared/trust/providers-file.ts';
import type { TrustedProvider } from '../../../shared/trust/trusted-providers.ts';
import { createRfc3161Provider, type Listings, type Rfc3161Provider } from '../rfc3161.ts';
import { askTimeServer, type ClockWatch, type LocalTime, systemTime, uncheckedClock, watchClock } from './clock-watch.ts';

const refused = ({ name }: KeyProviderSettings, member: string, why: string) =>
  new ConfigError(`TSP_PROVIDERS_FILE: (${name}).${member}: ${why}`);

const read = ({ name }: KeyProviderSettings, member: string, file: string): Buffer =>
  readSetting(`TSP_PROVIDERS_FILE: (${name}).${member}: "${file}"`, file, (bytes) => bytes);

function readKey(settings: KeyProviderSettings): KeyObject {
  const { keyFile, passphraseFile } = settings;
  const pem = read(settings, 'key_file', keyFile);
  const passphrase =
    passphraseFile &&
    read(settings, 'passphrase_file', passphraseFile)
      .toString('utf8')
      .replace(/^\uFEFF|\r?\n$/g, '');
  try {
    return createPrivateKey({ key: pem, ...(passphrase !== undefined && { passphrase }) });
  } catch {
    // OpenSSL's message differs by format and version, so it is not shown.
    if (!pem.includes('ENCRYPTED')) throw refused(settings, 'key_file', `"${keyFile}" does not contain a private key in PEM`);
    const why = passphraseFile ? `"${passphraseFile}" does not open "${keyFile}"` : `got nothing, and "${keyFile}" is encrypted`;
    throw refused(settings, 'passphrase_file', why);
  }
}

/**
 * Opens the key and certificates of an entry, then issues and verifies a test token, which shows whether they are suitable for time-stamps now.
 *
 * @throws ConfigError with one line that names the entry and the member
 */
async function openSigningKey(settings: KeyProviderSettings, trust: TrustStore, nowMs: number): Promise<TsaProfile> {
  const { certificatesFile, certificatesPem, policyOid, accuracyMs } = settings;
  const privateKey = readKey(settings);
  const [seconds, millis] = [Math.floor(accuracyMs / 1_000), accuracyMs % 1_000];
  let profile: TsaProfile;
  try {
    profile = {
      identity: identityOf(privateKey, certificatesIn(certificatesPem)),
      policies: [policyOid],
      accuracy: { ...(seconds > 0 && { seconds }), ...(millis > 0 && { millis }) },
    };
  } catch (error) {
    if (error instanceof IdentityError) throw refused(settings, 'key_file', `the key of "${settings.keyFile}" ${error.message}`);
    throw error;
  }
  const request = encodeRequest({ imprint: { algorithm: 'sha256', digest: randomBytes(32) }, nonce: randomBytes(16) });
  const first = await verifyResponse(issueResponse(profile, request, { timeMs: nowMs, serial: randomSerial() }), {
    request,
    trust,
    nowMs,
    sentAtMs: nowMs,
    receivedAtMs: nowMs,
  });
  if (!first.ok) throw refused(settings, 'certificates_file', `"${certificatesFile}" does not make valid time-stamps: ${first.detail}`);
  return profile;
}

function openClock({ name, clock }: KeyProviderSettings, time: LocalTime, log: Logger): ClockWatch {
  if (clock === undefined || clock === 'unchecked') return uncheckedClock;
  const { ntp: servers, maxDriftMs } = clock;
  return watchClock({ provider: name, servers, maxDriftMs, time, askServer: (server, ms) => askTimeServer(server, time, ms), log });
}

interface KeyProvider extends Rfc3161Provider {
  readonly clockWatch: ClockWatch;
}

/**
 * Opens a TSA in this process that signs with a key of ours. Its tokens are verified like those of other TSAs.
 *
 * @throws ConfigError if the key or its certificates are not suitable for time-stamps
 */
export async function openKeyProvider(
  { settings, trust }: TrustedProvider & { readonly settings: KeyProviderSettings },
  { listings, log, time = systemTime }: { listings: Listings; log: Logger; time?: LocalTime },
): Promise<KeyProvider> {
  const profile = await openSigningKey(settings, trust, time.wall());
  const clockWatch = openClock(settings, time, log);
  const ask = async (tsq: Buffer) => {
    await clockWatch.confirm();
    return issueResponse(profile, tsq, { timeMs: time.wall(), serial: randomSerial() });
  };
  const client = { ask, close: clockWatch.close };
  const provider = createRfc3161Provider({ settings, trust, client, listings, clock: time.wall });
  // The provider itself, because some of its members are computed when they are read.
  return Object.assign(provider, { clockWatch, readClock: clockWatch.read });
}
