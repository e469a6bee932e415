import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { checkoutDir } from '../stack/context.ts';
import { runCommand } from '../stack/run.ts';
import { manifestOf, mcpName, withAbsoluteLinks } from './release.ts';

/** Makes the package `qstamp`, the command with its MCP server, and returns the path of the archive. @throws CommandError */
export const packCommand = (destination: string): Promise<string> =>
  withCopy(['src', 'clients/typescript/src', 'views/bundle/verify.py', 'packages/qstamp'], async (copy) => {
    // In the package, the root of the copy: the sources of the source maps are then where the maps look for them.
    const from = join(copy, 'packages/qstamp');
    cpSync(join(from, 'bin'), join(copy, 'bin'), { recursive: true });
    // The command reads its version from the manifest.
    writeManifest(join(from, 'package.json'), join(copy, 'package.json'), { mcpName, ...manifestOf('packages/qstamp') });
    await runCommand(join(checkoutDir, 'node_modules/.bin/tsc'), ['--project', from]);
    cpSync(join(copy, 'views'), join(copy, 'dist/views'), { recursive: true });
    cpSync(join(checkoutDir, 'LICENSE'), join(copy, 'LICENSE'));
    writeFileSync(join(copy, 'README.md'), withAbsoluteLinks('packages/qstamp/README.md'));
    writeFileSync(join(copy, 'CHANGELOG.md'), withAbsoluteLinks('CHANGELOG.md'));
    return pack(copy, destination);
  });

/** Makes the package `qstamp-client`, and returns the path of the archive. @throws CommandError */
export const packClient = (destination: string): Promise<string> =>
  withCopy(['clients/typescript'], async (copy) => {
    const folder = join(copy, 'clients/typescript');
    rmSync(join(folder, 'dist'), { recursive: true, force: true });
    const manifest = join(folder, 'package.json');
    writeManifest(manifest, manifest, manifestOf('clients/typescript'));
    writeFileSync(join(folder, 'README.md'), withAbsoluteLinks('clients/typescript/README.md'));
    return pack(folder, destination);
  });

/** Builds in a copy, because others may use or build the same folders of the checkout at the same time. */
async function withCopy<Result>(paths: readonly string[], build: (copy: string) => Promise<Result>): Promise<Result> {
  const copy = mkdtempSync(join(tmpdir(), 'qstamp-package-'));
  try {
    for (const path of ['tsconfig.json', ...paths]) cpSync(join(checkoutDir, path), join(copy, path), { recursive: true });
    symlinkSync(join(checkoutDir, 'node_modules'), join(copy, 'node_modules'));
    return await build(copy);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function writeManifest(from: string, to: string, more: object): void {
  writeFileSync(to, `${JSON.stringify({ ...JSON.parse(readFileSync(from, 'utf8')), ...more }, null, 2)}\n`);
}

async function pack(folder: string, destination: string): Promise<string> {
  // Inside `npm run`, npm skips the build script because of .npmrc.
  const env = { ...process.env, PATH: `${join(checkoutDir, 'node_modules/.bin')}${delimiter}${process.env.PATH}` };
  const name = await runCommand('npm', ['pack', '--silent', '--ignore-scripts=false', '--pack-destination', destination], {
    cwd: folder,
    env,
  });
  return join(destination, name);
}
