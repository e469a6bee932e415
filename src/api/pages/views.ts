import fastifyView from '@fastify/view';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { createViewEngine, viewsFolder } from '../../shared/views/engine.ts';
import type { Operator } from '../../shared/views/operator.ts';
import { registerAssets } from './assets.ts';
import { dayBars } from './day-bars.ts';
import type { PageModels } from './models.ts';
import { qrCode } from './qr-code.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** Answers with a page of `views/`; its model is checked by the page's name. */
    page<Name extends keyof PageModels>(name: Name, model: PageModels[Name]): FastifyReply;
  }
}

/** Pages by `reply.page`, and their assets. Call it on the root instance: what it decorates must be seen by every route. */
export async function registerViews(app: FastifyInstance, { operator }: { operator: Operator | null }): Promise<void> {
  const assetUrl = await registerAssets(app);
  await app.register(fastifyView, {
    engine: { eta: createViewEngine(assetUrl) },
    root: viewsFolder,
    production: true,
    defaultContext: { dayBars, operator, qrCode },
  });
  app.decorateReply('page', function page(this: FastifyReply, name: keyof PageModels, model: PageModels[keyof PageModels]) {
    // A page shows what is true now; the answer to a challenge is nobody's to keep.
    if (!this.hasHeader('cache-control')) this.header('cache-control', name === 'verify-user' ? 'no-store' : 'no-cache');
    return this.view(`${name}.eta`, model);
  });
}
