/** Evidence: files that let others check a stamp or a workflow without this service. */
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from '../server/context.ts';
import type { Stamps } from '../stamps/index.ts';
import type { ApiTools } from '../tools.ts';
import type { StampJudge } from '../verification/index.ts';
import type { Workflows } from '../workflows/index.ts';
import { createEvidenceBundles } from './bundle/bundle.ts';
import { registerBundleRoutes } from './bundle-routes.ts';
import { registerContainerRoute } from './container-route.ts';
import { createCoseEvidence } from './cose/headers.ts';
import { registerCoseRoutes } from './cose-routes.ts';
import { createExchangeReader } from './exchange.ts';
import { registerExchangeRoutes } from './exchange-routes.ts';
import { createHeldEvidenceReader } from './held-evidence.ts';
import { createPublished } from './published.ts';
import { registerPublishedRoutes } from './published-routes.ts';
import { createEvidenceRenewals } from './renewal.ts';
import { registerRenewalRoutes } from './renewal-routes.ts';
import { createListFileFinder } from './trusted-list.ts';
import { registerTrustedListRoute } from './trusted-list-route.ts';

export function createEvidence(tools: ApiTools, others: { readonly stampJudge: StampJudge; readonly workflows: Workflows }) {
  const { store, trust, clock } = tools;
  const { stampJudge } = others;
  const { proveSealedChain } = others.workflows;
  const { stamps, outputs, workflows, newDigests, keys } = store;
  return {
    readExchange: createExchangeReader({ stamps }),
    readHeldEvidence: () => createHeldEvidenceReader({ stampJudge }),
    evidenceRenewals: createEvidenceRenewals({ stamps, newDigests, stampJudge, clock }),
    cose: createCoseEvidence({ stamps, outputs, workflows, proveSealedChain, keys }),
    bundles: createEvidenceBundles({
      proveSealedChain,
      outputs,
      stamps,
      stampJudge,
      listings: store.listings,
      trustedLists: store.trustedLists,
      revocationLists: trust.providers.flatMap(({ settings: { crl } }) => crl ?? []),
    }),
    findListFile: createListFileFinder(store),
    published: createPublished(tools),
  };
}

type EvidenceServices = ReturnType<typeof createEvidence>;

export function registerEvidence(
  app: FastifyInstance,
  context: ServerContext & EvidenceServices & Pick<Stamps, 'sealedContents'> & { readonly workflows: Workflows },
): void {
  registerExchangeRoutes(app, context);
  registerContainerRoute(app, context);
  registerRenewalRoutes(app, context);
  registerPublishedRoutes(app, context);
  registerBundleRoutes(app, context);
  registerCoseRoutes(app, context);
  registerTrustedListRoute(app, context);
}
