import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { evidenceDocument, evidenceQuery } from '../../shared/contract/evidence-bundle.ts';
import { tokenIdPath, trustedListPath, trustedListType } from '../../shared/contract/verify.ts';
import { workflowIdPath } from '../../shared/contract/workflow.ts';
import {
  closingRecord,
  consistencyProof,
  consistencyQuery,
  inclusionPathParameters,
  inclusionProof,
  inclusionQuery,
  workflowOutputs,
  workflowOutputsQuery,
} from '../../shared/contract/workflow-proof.ts';
import type { ServerContext } from '../http/context.ts';
import { bytes, json, type OperationContract } from '../http/operation.ts';
import { createRequestParser } from '../http/validation.ts';
import type { ApiTools } from '../tools.ts';
import { findWorkflow, proveConsistency, proveInclusion, proveInclusionOf, type WorkflowTools } from '../workflows/index.ts';
import { evidenceDocumentOf, zipOf } from './bundle.ts';
import { gatherEvidence } from './bundle-contents.ts';
import { coseHeadersOf, readPublicKey } from './cose.ts';
import { findListFile, publishedRecordOf, readPublishedOutputs } from './published.ts';

const recorded = { tag: 'Workflow', path: workflowIdPath, errors: ['not_found', 'rate_limited', 'store_unavailable'] } as const;
const proved = {
  ...recorded,
  errors: ['not_found', 'rate_limited', 'overloaded', 'store_unavailable'],
  description:
    'For a completed workflow the proof leads to the stamped root and comes with both stamps. For an open one it leads to the current root, which has no stamp. ' +
    'The service verifies record and stamps for each answer; if they do not verify, the answer is 500.',
} as const;

const evidence = {
  ...proved,
  description:
    'The service verifies chain, root and closing record for each answer; if they do not verify, the answer is 500. The outputs’ own stamps are given as ' +
    'stored. 404 until the workflow is completed.',
  query: evidenceQuery,
} as const;

const contracts = {
  outputs: {
    ...recorded,
    id: 'listWorkflowOutputs',
    summary: 'The chain of outputs, so that you can recompute it',
    description: 'The chain as recorded; nothing is verified. To recompute it you need only SHA-256.',
    query: workflowOutputsQuery,
    answers: { 200: json('A page of the chain.', workflowOutputs) },
  },
  record: {
    ...recorded,
    id: 'readClosingRecord',
    summary: 'The closing record, byte for byte as stamped',
    description: 'Canonical JSON (RFC 8785). The stamp of the closing record covers the SHA-256 of the body.',
    answers: { 200: json('The closing record.', closingRecord) },
  },
  byNumber: {
    ...proved,
    id: 'readInclusionProof',
    summary: 'Proof that an output is in the tree (RFC 9162 §2.1.3)',
    path: inclusionPathParameters,
    answers: { 200: json('The proof.', inclusionProof) },
  },
  byHash: {
    ...proved,
    id: 'readInclusionProofByHash',
    summary: 'The same proof, found by the hash of an output',
    query: inclusionQuery,
    answers: { 200: json('The proof.', inclusionProof) },
  },
  consistency: {
    ...proved,
    id: 'readConsistencyProof',
    summary: 'Proof that an earlier state of the tree is still there, in the same order (RFC 9162 §2.1.4)',
    query: consistencyQuery,
    answers: { 200: json('The proof.', consistencyProof) },
  },
  zip: {
    ...evidence,
    id: 'downloadEvidenceBundle',
    summary: 'Everything you need to check a completed workflow without this service',
    description: `${evidence.description} The bytes are the same each time, unless its stamps change. \`python3 -I verify.py\` in the bundle checks it, and needs only Python 3 and OpenSSL 3.`,
    answers: { 200: bytes('The bundle.', 'application/zip') },
  },
  document: {
    ...evidence,
    id: 'readEvidence',
    summary: 'The evidence of a completed workflow as one JSON document',
    answers: { 200: json('The evidence.', evidenceDocument) },
  },
  cose: {
    tag: 'Verification',
    id: 'downloadCoseHeaders',
    summary: 'The stamp as headers of a COSE message (RFC 9921, RFC 9942)',
    description:
      'A CBOR array: the protected header, with the time-stamp token (`3161-ttc`, 269), and the unprotected header, with a COSE receipt (394) if the stamp is an ' +
      'output of a completed workflow. Put them into your own COSE message over the stamped content; the service signs only the COSE receipt.',
    path: tokenIdPath,
    answers: { 200: bytes('`[protected, unprotected]` as in RFC 9052 §3.', 'application/cbor') },
    errors: proved.errors,
  },
  receiptKey: {
    tag: 'Verification',
    id: 'downloadReceiptKey',
    summary: 'The public key for the signatures of COSE receipts',
    description:
      'Ed25519, PEM. A COSE receipt proves that this service keeps the tree. The stamp of the root proves when the root existed.',
    answers: { 200: bytes('The public key.', 'application/x-pem-file') },
    errors: ['rate_limited', 'store_unavailable'],
  },
  list: {
    tag: 'Verification',
    id: 'downloadTrustedList',
    summary: 'A trusted list that this service has verified (ETSI TS 119 612)',
    description: 'The file as its country signed it. `/api/v1/status` names the lists in force; older ones stay here.',
    path: trustedListPath,
    answers: { 200: bytes('The list.', trustedListType) },
    errors: recorded.errors,
  },
} satisfies Readonly<Record<string, OperationContract>>;

const parseOutputs = createRequestParser(contracts.outputs);
const parseRecord = createRequestParser({ path: workflowIdPath });
const parseByNumber = createRequestParser(contracts.byNumber);
const parseByHash = createRequestParser(contracts.byHash);
const parseConsistency = createRequestParser(contracts.consistency);
const parseEvidence = createRequestParser(contracts.zip);
const parseCose = createRequestParser(contracts.cose);
const parseList = createRequestParser(contracts.list);

const limited = ({ limitVerifying: onRequest }: ServerContext, contract: OperationContract) => ({ onRequest, config: { contract } });

/** Serves chain, closing record and Merkle proofs of a workflow, so that anyone can check it (W21). */
export function registerPublishedRoutes(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const find = publicWorkflowOf(context, tools);
  const of = (contract: OperationContract) => limited(context, contract);

  app.get('/workflow/:workflow_id/outputs.json', of(contracts.outputs), async (request, reply) => {
    const { path, query } = parseOutputs(request);
    return readPublishedOutputs(tools, await find(request, unlisted(reply), path.workflow_id), query);
  });
  app.get('/workflow/:workflow_id/closing-record.json', of(contracts.record), async (request, reply) => {
    const workflow = await find(request, unlisted(reply), parseRecord(request).path.workflow_id);
    return reply.type('application/json; charset=utf-8').send(publishedRecordOf(workflow));
  });
  app.get('/api/v1/workflow/:workflow_id/proof/:number', of(contracts.byNumber), async (request, reply) => {
    const { workflow_id, number } = parseByNumber(request).path;
    return proveInclusion(tools, await find(request, reply, workflow_id), number);
  });
  app.get('/api/v1/workflow/:workflow_id/proof', of(contracts.byHash), async (request, reply) => {
    const { path, query } = parseByHash(request);
    return proveInclusionOf(tools, await find(request, reply, path.workflow_id), query.output_hash);
  });
  app.get('/api/v1/workflow/:workflow_id/consistency', of(contracts.consistency), async (request, reply) => {
    const { path, query } = parseConsistency(request);
    return proveConsistency(tools, await find(request, reply, path.workflow_id), query);
  });
}

/** Serves the evidence of a completed workflow as a zip file and as JSON (W22). */
export function registerBundleRoutes(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const findPublic = publicWorkflowOf(context, tools);

  async function find(request: FastifyRequest, reply: FastifyReply) {
    const { path, query } = parseEvidence(request);
    const workflow = await findPublic(request, reply, path.workflow_id);
    context.largeAnswers.begin(request, reply);
    unlisted(reply);
    return { workflowId: path.workflow_id, evidence: await gatherEvidence(tools, workflow, query.lists) };
  }

  const of = (contract: OperationContract) => ({ exposeHeadRoute: false, ...limited(context, contract) });
  app.get('/workflow/:workflow_id/evidence.zip', of(contracts.zip), async (request, reply) => {
    const { workflowId, evidence } = await find(request, reply);
    reply.header('Content-Disposition', `attachment; filename="workflow-${workflowId}.zip"`);
    return reply.type('application/zip').send(zipOf(evidence));
  });
  app.get('/workflow/:workflow_id/evidence.json', of(contracts.document), async (request, reply) => {
    const { evidence } = await find(request, reply);
    return reply.type('application/json; charset=utf-8').send(evidenceDocumentOf(evidence));
  });
}

/** Serves stamps as headers of COSE messages (W23). */
export function registerCoseRoutes(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  app.get('/api/v1/verify/v1/token/:token_id/cose', limited(context, contracts.cose), async (request, reply) => {
    const { token_id } = parseCose(request).path;
    const headers = await context.mistakes.count(request, reply, () => coseHeadersOf(tools, token_id));
    reply.header('Content-Disposition', `attachment; filename="${token_id}.cbor"`);
    return reply.type('application/cbor').send(headers);
  });
  app.get('/api/v1/verify/v1/receipt-key', limited(context, contracts.receiptKey), async (_request, reply) =>
    reply.type('application/x-pem-file').send(await readPublicKey(tools.store)),
  );
}

/** Serves trusted lists by their SHA-256. Only verified lists are stored; still, browsers must save them and not show them as a page of ours. */
export function registerTrustedListRoute(app: FastifyInstance, context: ServerContext, { store }: ApiTools): void {
  app.get('/trusted-lists/:sha256', limited(context, contracts.list), async (request, reply) => {
    const { name, xml } = await findListFile(store, parseList(request).path.sha256);
    reply.header('Content-Disposition', `attachment; filename="${name}"`);
    return reply.header('Cache-Control', 'public, max-age=31536000, immutable').type(trustedListType).send(xml);
  });
}

/**
 * Finds a workflow by its id, for callers without a token. An unknown id counts as a mistake (R3).
 *
 * @throws ServiceError `not_found`, `rate_limited`, `store_unavailable`
 */
const publicWorkflowOf =
  ({ mistakes }: ServerContext, tools: WorkflowTools) =>
  (request: FastifyRequest, reply: FastifyReply, workflowId: string) =>
    mistakes.count(request, reply, () => findWorkflow(tools, workflowId));

/** Sets headers on a public answer that search engines should not list. */
export const unlisted = (reply: FastifyReply): FastifyReply =>
  reply.header('Cache-Control', 'no-cache').header('X-Robots-Tag', 'noindex, nofollow');
