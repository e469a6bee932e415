import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { runCommand } from '../../scripts/stack/run.ts';

/** `@qstamp/client` as its users get it. */
export interface InstalledClient {
  /** A folder that was empty before the package was installed. */
  readonly folder: string;
  /** What was packed. */
  readonly archive: string;
  /** The package itself, out of that folder. */
  load(): Promise<typeof import('../../clients/typescript/src/index.ts')>;
  dispose(): void;
}

/** As where there is no registry: what the package depends on comes from this checkout. */
export const offline = ['--offline', '--no-audit', '--no-fund', '--install-links'];
export const dependency = join(checkoutDir, 'node_modules/@noble/hashes');

/** Packs the client of a checkout as `npm publish` would, and installs the package into an empty folder. */
export async function installClient(): Promise<InstalledClient> {
  const place = mkdtempSync(join(tmpdir(), 'qstamp-client-'));
  const dispose = () => rmSync(place, { recursive: true });
  try {
    // Of a copy: other tests may pack at the same time. Below `npm test` npm would skip the script that builds it, as .npmrc says.
    const source = join(place, 'clients/typescript');
    cpSync(join(checkoutDir, 'clients/typescript'), source, { recursive: true });
    rmSync(join(source, 'dist'), { recursive: true, force: true });
    cpSync(join(checkoutDir, 'tsconfig.json'), join(place, 'tsconfig.json'));
    mkdirSync(join(source, 'node_modules/@noble'), { recursive: true });
    symlinkSync(dependency, join(source, 'node_modules/@noble/hashes'));
    const env = { ...process.env, PATH: `${join(checkoutDir, 'node_modules/.bin')}${delimiter}${process.env.PATH}` };
    await runCommand('npm', ['pack', '--ignore-scripts=false', '--pack-destination', place], { cwd: source, env });
    const [packed = ''] = readdirSync(place).filter((name) => name.endsWith('.tgz'));
    const archive = join(place, packed);
    const folder = join(place, 'app');
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    await runCommand('npm', ['install', ...offline, archive, dependency], { cwd: folder, env });
    const entry = pathToFileURL(join(folder, 'node_modules/@qstamp/client/dist/index.js')).href;
    return { folder, archive, load: () => import(entry), dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

let installed: Promise<InstalledClient> | undefined;

/** The package, installed once for all tests of this process. `npm test` removes it with its other temporary files. */
export function installedClient(): Promise<InstalledClient> {
  installed ??= installClient();
  return installed;
}
