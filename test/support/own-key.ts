import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Settings } from './service.ts';

/** The extensions of a TSA certificate from the README. */
const tsaExtensions = [
  'basicConstraints=critical,CA:false',
  'keyUsage=critical,digitalSignature',
  'extendedKeyUsage=critical,timeStamping',
];

/** The `openssl` arguments for each kind of key that the verifier accepts. */
export const keyKinds = {
  'p-256': ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  'p-384': ['ec', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  'p-521': ['ec', '-pkeyopt', 'ec_paramgen_curve:P-521'],
  'rsa-2048': ['rsa:2048'],
  'rsa-pss': [
    'rsa-pss',
    '-pkeyopt',
    'rsa_keygen_bits:2048',
    '-pkeyopt',
    'rsa_pss_keygen_md:sha384',
    '-pkeyopt',
    'rsa_pss_keygen_mgf1_md:sha384',
  ],
  ed25519: ['ed25519'],
} as const;

export interface OwnKey {
  readonly dir: string;
  /** The root certificate's file. */
  readonly rootFile: string;
  /** An entry of the providers file; paths are relative to `dir`. */
  readonly entry: Readonly<Record<string, unknown>>;
}

const openssl = (dir: string, ...args: readonly string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });

/** A root and a TSA certificate made by `openssl`, in a folder that is removed after the test, or by the given `onEnd`. */
export function makeOwnKey(
  options: {
    kind?: readonly string[];
    extensions?: readonly string[];
    days?: readonly string[];
    passphrase?: string;
    onEnd?: (close: () => void) => void;
  } = {},
): OwnKey {
  const { kind = keyKinds['p-256'], extensions = tsaExtensions, days = ['-days', '30'], passphrase } = options;
  const dir = mkdtempSync(join(tmpdir(), 'qstamp-key-'));
  (options.onEnd ?? onTestFinished)(() => rmSync(dir, { recursive: true }));
  const root = ['-keyout', 'root.key', '-out', 'root.pem', '-subj', '/CN=Own Root', '-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
  openssl(dir, 'req', '-x509', '-newkey', ...keyKinds['p-256'], '-noenc', '-days', '60', ...root);
  const secret = passphrase === undefined ? ['-noenc'] : ['-passout', `pass:${passphrase}`];
  const own = ['-keyout', 'tsa.key', '-out', 'tsa.pem', '-subj', '/CN=Own TSA', ...extensions.flatMap((one) => ['-addext', one])];
  openssl(dir, 'req', '-x509', '-CA', 'root.pem', '-CAkey', 'root.key', '-newkey', ...kind, ...secret, ...days, ...own);
  const entry = {
    name: 'own-tsa',
    type: 'key',
    key_file: 'tsa.key',
    certificates_file: 'tsa.pem',
    trust_anchors_file: 'root.pem',
    policy_oid: '2.999.17.5',
  };
  return { dir, rootFile: join(dir, 'root.pem'), entry };
}

/** Settings of a service whose providers are these entries, in the folder of the key. */
export function ownKeySettings({ dir, entry }: OwnKey, members: object = {}, others: readonly object[] = []): Settings {
  const file = join(dir, 'providers.json');
  writeFileSync(file, JSON.stringify([{ ...entry, ...members }, ...others]));
  return { TSP: 'file', TSP_PROVIDERS_FILE: file };
}
