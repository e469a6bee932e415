import { createPrivateKey, randomUUID, X509Certificate } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { certificatesIn, identityOf, pemOf, type SigningIdentity } from '../shared/rfc3161/index.ts';
import { createPki, emptyCrl, issueTsa, KEY_ALGORITHMS, type KeyAlgorithm, type Pki, schemeOf } from './pki.ts';

// The PKI of a development TSA is stored on disk, so that its stamps still verify after a restart: the root stays, and the TSA's own certificate
// is renewed under it. A folder whose PKI cannot be read is an error; it is never replaced by a new root.

const RENEW_BEFORE_MS = 30 * 24 * 3600 * 1000;

/** A certificate with its key: DER in base64, the private key in PEM. */
const identitySchema = z.object({ certificate: z.base64(), algorithm: z.enum(KEY_ALGORITHMS), privateKey: z.string() });
const stateSchema = z.object({
  version: z.literal(1),
  root: identitySchema,
  intermediate: identitySchema,
  /** The TSA's own certificates, by the algorithm of their key. */
  signers: z.record(z.string(), identitySchema),
});
type State = z.output<typeof stateSchema>;
type StoredIdentity = z.output<typeof identitySchema>;

interface TsaState extends Pki {
  /** The path of the root in PEM, the trust anchor of every token of this TSA. */
  rootFile: string;
  /** The path of the revocation lists of root and intermediate CA in PEM, made at this start. */
  crlFile: string;
}

/**
 * Opens the PKI in `dir`, or creates it there. If two processes start at once, one of them creates it and both use it.
 *
 * @throws Error if the folder contains a `pki.json` that is not such a PKI
 */
export async function openTsaState(dir: string, algorithm: KeyAlgorithm, nowMs: number): Promise<TsaState> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, 'pki.json');
  const state = (await read(path)) ?? (await create(path, algorithm, nowMs));
  const root = restore(state.root);
  const intermediate = restore(state.intermediate);
  const stored = state.signers[algorithm];
  let signer = stored && restore(stored, intermediate);
  if (signer === undefined || new X509Certificate(signer.certificate).validToDate.getTime() < nowMs + RENEW_BEFORE_MS) {
    signer = issueTsa(intermediate, algorithm, nowMs);
    const signers = { ...state.signers, [algorithm]: keep(signer, algorithm) };
    await writeWhole(path, serialize({ ...state, signers }));
  }

  const rootPem = pemOf('CERTIFICATE', root.certificate);
  const rootFile = join(dir, 'root.pem');
  await writeWhole(rootFile, rootPem);
  const crlFile = join(dir, 'crl.pem');
  await writeWhole(crlFile, [root, intermediate].map((ca) => pemOf('X509 CRL', emptyCrl(ca, nowMs))).join(''));
  return { root, intermediate, signer, rootPem, rootFile, crlFile };
}

/** Writes `providers.json` beside the root, for use as `TSP_PROVIDERS_FILE`. Returns its path. */
export async function writeProvidersFile(
  dir: string,
  { url, policy, isAggregating }: { url: string; policy: string; isAggregating: boolean },
): Promise<string> {
  const path = join(dir, 'providers.json');
  const entry = {
    name: 'local-tsa',
    url,
    qualified: false,
    policy_oid: policy,
    trust_anchors_file: 'root.pem',
    // Only this service uses the TSA, and many parallel requests cost less time per request.
    max_concurrent: 256,
    ...(isAggregating && { aggregate: {} }),
  };
  await writeWhole(path, `${JSON.stringify([entry], null, 2)}\n`);
  return path;
}

async function read(path: string): Promise<State | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return stateSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new Error(`${path} is not the PKI of a development TSA. Move it away to start a new one.`, { cause: error });
  }
}

async function create(path: string, algorithm: KeyAlgorithm, nowMs: number): Promise<State> {
  const pki = createPki({ algorithm, caAlgorithm: 'p-256', nowMs });
  const state: State = {
    version: 1,
    root: keep(pki.root, 'p-256'),
    intermediate: keep(pki.intermediate, 'p-256'),
    signers: { [algorithm]: keep(pki.signer, algorithm) },
  };
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, serialize(state), { mode: 0o600, flag: 'wx' });
  try {
    // Unlike `rename`, `link` never replaces a file, so the first of two processes creates it.
    await link(draft, path);
    return state;
  } catch (error) {
    const winner = error instanceof Error && 'code' in error && error.code === 'EEXIST' ? await read(path) : undefined;
    if (winner === undefined) throw error;
    return winner;
  } finally {
    await rm(draft);
  }
}

/** Replaces `path` in one step: a reader sees either the old file or the new file. */
async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
  await rename(draft, path);
}

const serialize = (state: State): string => `${JSON.stringify(state, null, 2)}\n`;

const keep = ({ certificate, privateKey }: SigningIdentity, algorithm: KeyAlgorithm): StoredIdentity => ({
  certificate: certificate.toString('base64'),
  algorithm,
  privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
});

/** @throws IdentityError if the key does not belong to the certificate */
function restore({ certificate, privateKey, algorithm }: StoredIdentity, issuer?: SigningIdentity): SigningIdentity {
  const chain = [Buffer.from(certificate, 'base64'), ...(issuer ? [issuer.certificate] : [])];
  const identity = identityOf(
    createPrivateKey(privateKey),
    chain.flatMap((der) => certificatesIn(der)),
  );
  return { ...identity, scheme: schemeOf(algorithm) };
}
