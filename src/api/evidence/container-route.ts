import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { containerOf } from '../../shared/archive/asics.ts';
import { sealedContentPath } from '../../shared/contract/verify.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { containerType } from '../../shared/proof/asics.js';
import type { ServerContext } from '../http/context.ts';
import { bytes, type OperationContract } from '../http/operation.ts';
import { sealedAddress, sealedOpener } from '../stamps/index.ts';
import type { WorkflowTools } from '../workflows/index.ts';
import { createHeldEvidenceReader } from './held-evidence.ts';

const contract = {
  tag: 'Sealed content',
  id: 'downloadSealedContainer',
  summary: 'Content and time-stamp as an ASiC-S container (EN 319 162-1)',
  description:
    'At the same secret address. Other verifiers can read it. The octets are the same each time. Stamps of the mock provider have no container.',
  path: sealedContentPath,
  answers: { 200: bytes('The container.', containerType) },
  errors: ['not_found', 'rate_limited', 'store_unavailable', 'overloaded'],
} satisfies OperationContract;

/** Serves the content and the proof of a sealed stamp as an ASiC-S container (S11). The bytes are the same until the evidence is renewed. */
export function registerContainerRoute(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const open = sealedOpener(context, tools);
  const options = { onRequest: context.limitVerifying, exposeHeadRoute: false, config: { contract } };
  app.get(`${sealedAddress}/container`, options, async (request, reply) => {
    const { stamp, size, crc32, read } = await open(request, reply, 'asics');
    if (stamp.proofs[0].token === '') throw new ServiceError('not_found', 'The record of this stamp is damaged: there is nothing to pack.');
    const held = await createHeldEvidenceReader(tools.stampJudge)(stamp);
    if (held === undefined)
      throw new ServiceError('not_found', 'This stamp was made by the mock provider: there is no time-stamp token to pack.');
    const file = { name: `${stamp.tokenId}.bin`, size, crc32, octets: read() };
    return reply.type(containerType).send(Readable.from(containerOf(file, held.bytes), { objectMode: false }));
  });
}
