import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Certificate,
  createTrustStore,
  nameText,
  type TrustMaterial,
  TrustMaterialError,
  type TrustStore,
} from '../shared/rfc3161/index.ts';
import { asFailure, CommandFailure, exitCodes } from './failure.ts';

/** A fingerprint as OpenSSL prints it, for people to compare: `AB:CD:…`. */
export const readableFingerprint = (hex: string): string => hex.toUpperCase().match(/../g)?.join(':') ?? '';

/** A certificate in the members of a JSON line. */
export const certificateJson = ({ subject, issuer, fingerprint, notBeforeMs, notAfterMs }: Certificate) => ({
  subject: nameText(subject),
  issuer: nameText(issuer),
  sha256: fingerprint,
  not_before: new Date(notBeforeMs).toISOString(),
  not_after: new Date(notAfterMs).toISOString(),
});

/** A trust anchor that is kept: one file named by its fingerprint. */
export interface KeptAnchor {
  readonly path: string;
  readonly certificate: Certificate;
}

/** Runs `read`; what is wrong with the file is told in one sentence that names it. */
async function aboutFile<Value>(path: string, read: () => Promise<Value>): Promise<Value> {
  try {
    return await read();
  } catch (error) {
    const failure = error instanceof TrustMaterialError ? new CommandFailure(exitCodes.file, error.message) : asFailure(error);
    throw failure instanceof CommandFailure ? new CommandFailure(failure.exitCode, `${path}: ${failure.message}`) : failure;
  }
}

/** The certificates of a PEM or DER file. @throws CommandFailure when it holds none */
export const readCertificates = (path: string): Promise<readonly Certificate[]> =>
  aboutFile(path, async () => createTrustStore({ anchors: [await readFile(path)] }).certificates);

/** The anchors that this person keeps, by the names of their files; none where there is no folder yet. */
export async function keptAnchors(folder: string): Promise<readonly KeptAnchor[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const paths = names
    .filter((name) => name.endsWith('.pem'))
    .sort()
    .map((name) => join(folder, name));
  const read = async (path: string) => (await readCertificates(path)).map((certificate) => ({ path, certificate }));
  return (await Promise.all(paths.map(read))).flat();
}

/** Keeps a certificate as a trust anchor, and tells where. */
export async function keepAnchor(folder: string, { fingerprint, der }: Certificate): Promise<string> {
  const path = join(folder, `${fingerprint}.pem`);
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return aboutFile(path, async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(path, ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'));
    return path;
  });
}

export const forgetAnchor = ({ path }: KeptAnchor): Promise<void> => aboutFile(path, () => rm(path));

/**
 * The trust of one command: the certificates of `anchorFiles`, or those that are kept where none is named.
 *
 * @throws CommandFailure that names the file that cannot be read
 */
export async function openTrust(folder: string, anchorFiles: readonly string[], crlFiles: readonly string[]): Promise<TrustStore> {
  const named = (await Promise.all(anchorFiles.map(readCertificates))).flat();
  const kept = anchorFiles.length > 0 ? [] : await keptAnchors(folder);
  const anchors = [...named, ...kept.map(({ certificate }) => certificate)].map(({ der }) => der);
  const crls = await Promise.all(crlFiles.map((path) => aboutFile(path, () => readFile(path))));
  const material: TrustMaterial = { anchors, crls };
  return aboutFile(crlFiles.join(', '), async () => createTrustStore(material));
}
