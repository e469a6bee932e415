import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Certificate, createTrustStore, nameText, type TrustMaterial, type TrustStore } from '../shared/rfc3161/index.ts';
import { about } from './failure.ts';

/** Writes a fingerprint in OpenSSL's notation, so that people can compare it: `AB:CD:…`. */
export const readableFingerprint = (hex: string): string => hex.toUpperCase().match(/../g)?.join(':') ?? '';

/** The name of a certificate's subject or issuer, for people. A certificate that is not trusted may have a name that cannot be read. */
export function readableName(name: Buffer): string {
  try {
    return nameText(name);
  } catch {
    return `a name that cannot be read (${name.toString('hex')})`;
  }
}

/** A saved trust anchor. `qstamp trust add` gives each its own file, but the user may put a file with several into the folder. */
export interface KeptAnchor {
  readonly path: string;
  readonly certificate: Certificate;
}

/** Reads the certificates of a PEM or DER file. @throws CommandFailure if it has none */
export const readCertificates = (path: string): Promise<readonly Certificate[]> =>
  about(path, async () => createTrustStore({ anchors: [await readFile(path)] }).certificates);

/** Reads the user's saved trust anchors, sorted by file name. Returns an empty list if there is no folder yet. */
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

/** The options with the user's certificates and revocation lists, each a list of files. */
export interface TrustOptions {
  readonly ca?: readonly string[];
  readonly intermediate?: readonly string[];
  readonly crl?: readonly string[];
}

/**
 * Opens the trust store of one command. Its anchors are the certificates of `--ca`, or the saved ones if `--ca` is not given.
 *
 * @throws CommandFailure with the name of a file that cannot be read
 */
export async function openTrust(
  folder: string,
  { ca = [], intermediate = [], crl = [] }: TrustOptions = {},
  /** From the file that the command checks: certificates that are not trust anchors, and revocation lists signed by their issuers. */
  brought: Pick<TrustMaterial, 'intermediates' | 'crls'> = {},
): Promise<TrustStore> {
  const readAll = async (paths: readonly string[]) => (await Promise.all(paths.map(readCertificates))).flat();
  const anchors = ca.length > 0 ? await readAll(ca) : (await keptAnchors(folder)).map(({ certificate }) => certificate);
  const intermediates = await readAll(intermediate);
  const crls = await Promise.all(crl.map((path) => about(path, () => readFile(path))));
  const derOf = ({ der }: Certificate) => der;
  // The user's certificates were read before, so only a revocation list can be wrong here.
  return about(crl.join(', '), async () =>
    createTrustStore({
      anchors: anchors.map(derOf),
      intermediates: [...intermediates.map(derOf), ...(brought.intermediates ?? [])],
      crls: [...crls, ...(brought.crls ?? [])],
    }),
  );
}
