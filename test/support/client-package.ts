import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inject } from 'vitest';
import { packClient } from '../../scripts/packages/npm.ts';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { runCommand } from '../../scripts/stack/run.ts';

/** `qstamp-client` like its users get it. */
export interface InstalledClient {
  /** The folder with everything below, removed by `dispose`. */
  readonly place: string;
  /** The folder, otherwise empty, in which the package is installed. */
  readonly folder: string;
  /** The packed files. */
  readonly archive: string;
  /** The package, loaded from that folder. */
  load(): Promise<typeof import('../../clients/typescript/src/index.ts')>;
  dispose(): void;
}

/** Without a registry: the dependencies of the package come from this checkout. */
export const offline = ['--offline', '--no-audit', '--no-fund', '--install-links'];
export const dependency = join(checkoutDir, 'node_modules/@noble/hashes');

/** The client in a place where `installClient` has put it. */
function clientIn(place: string): InstalledClient {
  const [packed = ''] = readdirSync(place).filter((name) => name.endsWith('.tgz'));
  const folder = join(place, 'app');
  const entry = pathToFileURL(join(folder, 'node_modules/qstamp-client/dist/index.js')).href;
  return { place, folder, archive: join(place, packed), load: () => import(entry), dispose: () => rmSync(place, { recursive: true }) };
}

/** Packs the client, and installs the package into an empty folder. */
export async function installClient(): Promise<InstalledClient> {
  const place = mkdtempSync(join(tmpdir(), 'qstamp-client-'));
  try {
    const archive = await packClient(place);
    const { folder } = clientIn(place);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    await runCommand('npm', ['install', ...offline, archive, dependency], { cwd: folder });
    return clientIn(place);
  } catch (error) {
    rmSync(place, { recursive: true });
    throw error;
  }
}

let installed: Promise<InstalledClient> | undefined;

/** The package, installed once for all tests. `npm test` removes it with its other temporary files. */
export function installedClient(): Promise<InstalledClient> {
  const place = inject('client');
  installed ??= place ? Promise.resolve(clientIn(place)) : installClient();
  return installed;
}
