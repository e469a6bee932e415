import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import fastifyView from '@fastify/view';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { createViewEngine, viewsFolder } from '../../shared/views/engine.ts';
import { dayBars } from './day-bars.ts';
import type { PageModels } from './models.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** Answers with a page of `views/`; its model is checked by the page's name. */
    page<Name extends keyof PageModels>(name: Name, model: PageModels[Name]): FastifyReply;
  }
}

const assetsFolder = join(viewsFolder, 'assets');
const assetFiles = ['qstamp.css', 'qstamp.js', 'docs.js'];

/** `/assets/qstamp-1a2b3c4d5e6f.css`: the address changes with the content, so that it may be kept for ever. */
function addressOf(file: string): string {
  const [name, extension] = file.split('.');
  const digest = createHash('sha256')
    .update(readFileSync(join(assetsFolder, file)))
    .digest('hex');
  return `/assets/${name}-${digest.slice(0, 12)}.${extension}`;
}

/**
 * Pages by `reply.page`, and their assets. An address of an asset that this build does not have is 404, never another build's
 * content. Call it on the root instance: what it decorates must be seen by every route.
 */
export async function registerViews(app: FastifyInstance): Promise<void> {
  const addresses = new Map(assetFiles.map((file) => [file, addressOf(file)]));
  const assetUrl = (file: string): string => {
    const address = addresses.get(file);
    if (!address) throw new Error(`no such asset: ${file}`);
    return address;
  };

  await app.register(fastifyView, {
    engine: { eta: createViewEngine(assetUrl) },
    root: viewsFolder,
    production: true,
    defaultContext: { dayBars },
  });
  await app.register(fastifyStatic, { root: assetsFolder, serve: false, immutable: true, maxAge: '365d' });

  for (const [file, address] of addresses) {
    app.get(address, (_request, reply) => reply.sendFile(file));
  }
  app.decorateReply('page', function page(this: FastifyReply, name: keyof PageModels, model: PageModels[keyof PageModels]) {
    // A page shows what is true now; the answer to a challenge is nobody's to keep.
    if (!this.hasHeader('cache-control')) this.header('cache-control', name === 'verify-user' ? 'no-store' : 'no-cache');
    return this.view(`${name}.eta`, model);
  });
}
