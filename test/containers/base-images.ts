import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recipeKey } from '../../scripts/stack/cache.ts';
import { composeImage } from '../../scripts/stack/compose.ts';
import { checkoutDir, type StackContext } from '../../scripts/stack/context.ts';
import { makeTree, removeTree } from '../../scripts/stack/debian.ts';
import { findDocumentDbTree, treeKey } from '../../scripts/stack/documentdb.ts';
import { CommandError, runCommand } from '../../scripts/stack/run.ts';
import type { Podman } from './podman.ts';
import { type StandIn, standIns } from './stand-ins.ts';

/** An image that is needed, and how it was obtained. */
interface BaseImage {
  readonly name: string;
  readonly source: string;
}

const debianPackages = ['redis-server', 'prometheus', 'libstdc++6', 'ca-certificates', 'passwd'];
const label = 'qstamp.stand-in';

/** The base images of our Dockerfile, and the other images in our compose file. */
function neededImages(): string[] {
  const node = /^FROM (\S+) AS build$/m.exec(readFileSync(join(checkoutDir, 'deploy/Dockerfile'), 'utf8'))?.[1] ?? '';
  return [node, ...['redis', 'mongodb', 'mail', 'prometheus'].map(composeImage)];
}

/** Makes an image from a whole file tree, unless the image exists. */
async function importTree(context: StackContext, { podman, env }: Podman, from: StandIn['from']): Promise<string> {
  const key = from === 'debian' ? recipeKey(...debianPackages) : treeKey;
  const image = `localhost/qstamp-${from}:${key}`;
  if ((await podman(['image', 'ls', '--quiet', image])) !== '') return image;
  const work = join(context.dataDir, `tree-${from}`);
  mkdirSync(work);
  if (from === 'debian') await makeTree(context, work, debianPackages, 'Unpacking a small Debian (mmdebstrap)');
  const tree = from === 'debian' ? join(work, 'root') : await findDocumentDbTree(context);
  await context.progress.step(`Making an image of it (${from})`, () =>
    runCommand('sh', ['-c', 'tar -C "$1" -c . | podman import --quiet - "$2"', 'sh', tree, image], {
      signal: context.signal,
      env: { ...process.env, ...env },
    }),
  );
  await removeTree(work);
  return image;
}

async function makeStandIn(context: StackContext, engine: Podman, name: string, standIn: StandIn, key: string): Promise<void> {
  const from = await importTree(context, engine, standIn.from);
  const folder = join(context.dataDir, `image-${key}`);
  mkdirSync(folder);
  await standIn.prepare?.(context, folder);
  writeFileSync(join(folder, 'Containerfile'), [`FROM ${from}`, ...standIn.recipe, `LABEL ${label}=${key}`, ''].join('\n'));
  await context.progress.step(`Making ${name}`, () =>
    engine.podman(['build', '--format=docker', `--tag=docker.io/${name.includes('/') ? '' : 'library/'}${name}`, folder]),
  );
  await removeTree(folder);
}

/** Ensures that the image exists: it is pulled, or a replacement is built from what this machine can get. Built images are kept for the next run. */
async function getImage(context: StackContext, engine: Podman, name: string): Promise<BaseImage> {
  const standIn = standIns[name.slice(0, name.lastIndexOf(':'))];
  if (standIn === undefined) throw new Error(`there is no replacement for ${name}`);
  const key = recipeKey(standIn.from, ...standIn.recipe, ...debianPackages, treeKey);
  const format = `{{index .Config.Labels "${label}"}}`;
  const present = await engine.podman(['image', 'inspect', '--format', format, name]).catch(() => undefined);
  if (present === '' || present === '<no value>') return { name, source: 'pulled' };
  if (present !== key) {
    try {
      await context.progress.step(`Pulling ${name}`, () =>
        engine.podman(['pull', '--quiet', `docker.io/${name.includes('/') ? '' : 'library/'}${name}`]),
      );
      return { name, source: 'pulled' };
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      await makeStandIn(context, engine, name, standIn, key);
    }
  }
  return { name, source: `cannot be pulled here; replaced by ${standIn.what}` };
}

/** Gets every needed image, one after the other. */
export async function getBaseImages(context: StackContext, engine: Podman): Promise<BaseImage[]> {
  const images: BaseImage[] = [];
  for (const name of neededImages()) images.push(await getImage(context, engine, name));
  return images;
}
