import type { FastifyInstance } from 'fastify';
import type { WorkflowPage } from '../../src/api/workflows/page.ts';
import type { Seal } from '../../src/api/workflows/proof.ts';
import { createTreeHeadBuilder, extendChain, hashOfClosingText } from '../../src/shared/domain/proofs.ts';
import { canonicalTextOf, closingRecordOf } from '../../src/shared/proof/closing-record.js';
import { hexOf } from '../../src/shared/proof/octets.js';
import { chainStart } from '../../src/shared/proof/output-chain.js';
import { encodeEvidenceRecord, issueResponse, tokenIn } from '../../src/shared/rfc3161/index.ts';
import { createPki } from './certificates.ts';
import { ask } from './tsa-lab.ts';

/** The published data of the workflows of the sample pages, so that a browser can recompute them (W18, W20). */

/** The parts of a workflow's page that make its closing record. */
type Facts = Pick<WorkflowPage, 'workflowId' | 'tier' | 'briefingHash' | 'startedAt' | 'emailVerifiedAt' | 'completedAt'>;

export interface PublishedOutput {
  readonly sequence_number: number;
  readonly output_hash: string;
  readonly chain_hash: string;
}

function publishedOutputs(briefingHash: string, hashes: readonly string[]): PublishedOutput[] {
  let end = chainStart(briefingHash);
  return hashes.map((hash) => {
    end = extendChain(end, hash);
    return { sequence_number: end.sequenceNumber, output_hash: hash, chain_hash: end.chainHash };
  });
}

export function rootOf(hashes: readonly string[]): string {
  const tree = createTreeHeadBuilder();
  for (const hash of hashes) tree.append(Buffer.from(hash, 'hex'));
  return hexOf(tree.head().rootHash);
}

/** The canonical text of the closing record of a sample; the times are the page's. */
function closingTextOf(facts: Facts, hashes: readonly string[]): string {
  const date = (time: string | null) => (time === null ? undefined : new Date(time));
  return canonicalTextOf(
    closingRecordOf({
      workflowId: facts.workflowId,
      tier: facts.tier,
      briefingHash: facts.briefingHash,
      createdAt: new Date(facts.startedAt),
      confirmedAt: date(facts.emailVerifiedAt),
      completedAt: date(facts.completedAt) ?? new Date(0),
      outputCount: hashes.length,
      chainHash: publishedOutputs(facts.briefingHash, hashes).at(-1)?.chain_hash ?? facts.briefingHash,
      merkleRoot: rootOf(hashes),
      commitments: undefined,
    }),
  );
}

/** The closing hashes of a workflow with these outputs. */
export const sealHashes = (facts: Facts, hashes: readonly string[]) => ({
  root: rootOf(hashes),
  closingRecord: hashOfClosingText(closingTextOf(facts, hashes)),
});

/** A token of a development TSA for a hash and a time. */
export function tokenFor(hash: string, stampedAt: string): Buffer {
  const timeMs = Date.parse(stampedAt);
  const pki = createPki({ nowMs: timeMs - 86_400_000 });
  const { der } = ask({ digest: Buffer.from(hash, 'hex'), nonce: undefined });
  const answer = issueResponse({ identity: pki.signer, policies: ['2.999.1'], accuracy: { seconds: 1 } }, der, { timeMs, serial: 1n });
  const token = tokenIn(answer);
  if (token === undefined) throw new Error('the development TSA grants no token');
  return token;
}

/** An evidence record (RFC 4998) over such a token. */
export const evidenceFor = ({ hash, stamp }: Seal): Buffer => encodeEvidenceRecord('sha256', { token: tokenFor(hash, stamp.stampedAt) });

/** Serves the published data of a sample at `path`; returns the page with these addresses. */
export function servePublished(app: FastifyInstance, path: string, model: WorkflowPage, hashes: readonly string[]): WorkflowPage {
  const outputs = publishedOutputs(model.briefingHash, hashes);
  app.get<{ Querystring: { first: string } }>(`${path}/outputs.json`, ({ query }) => {
    const first = Number(query.first);
    return { outputs: outputs.slice(first - 1, first + 999) };
  });
  app.get(`${path}/closing-record.json`, (_, reply) => reply.type('application/json').send(closingTextOf(model, hashes)));
  const served = (name: string, seal: Seal | null): Seal | null => {
    if (!seal) return null;
    app.get(`${path}/${name}/evidence`, (_, reply) => reply.type('application/octet-stream').send(evidenceFor(seal)));
    return { ...seal, stamp: { ...seal.stamp, verifyUrl: `${path}/${name}` } };
  };
  return {
    ...model,
    root: served('root', model.root),
    closingRecord: served('closing-record', model.closingRecord),
    published: { outputsUrl: `${path}/outputs.json`, closingRecordUrl: model.closingRecord && `${path}/closing-record.json` },
  };
}
