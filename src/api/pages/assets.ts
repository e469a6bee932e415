import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { viewsFolder } from '../../shared/views/engine.ts';

const folder = join(viewsFolder, 'assets');

/**
 * Serves `views/assets` under `/assets/<digest of them all>/`, so that each may be kept for ever and scripts import each other by their
 * plain names. An address of another build is 404, never this build's content. Returns the address of a file.
 */
export async function registerAssets(app: FastifyInstance): Promise<(file: string) => string> {
  const files = readdirSync(folder).sort();
  const digest = createHash('sha256');
  for (const file of files) digest.update(file).update(readFileSync(join(folder, file)));
  const prefix = `/assets/${digest.digest('hex').slice(0, 12)}/`;

  await app.register(fastifyStatic, { root: folder, prefix, wildcard: false, immutable: true, maxAge: '365d' });
  return (file) => {
    if (!files.includes(file)) throw new Error(`no such asset: ${file}`);
    return prefix + file;
  };
}
