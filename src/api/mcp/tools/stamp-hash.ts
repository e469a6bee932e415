import { stampHashArguments } from '../../../shared/contract/mcp.ts';
import { type StampRequest, stampRequestFor, stampToken } from '../../../shared/contract/stamp.ts';
import type { Stamping } from '../../services/stamping.ts';
import { stampFor, stampingAnnotations } from './stamp.ts';
import { createTool, type Tool } from './tool.ts';

const hashOrder = stampHashArguments
  .transform(({ sha256_hex, tier, metadata }): StampRequest => ({ hash: sha256_hex, tier, metadata }))
  .pipe(stampRequestFor());

export function createStampHashTool({ stamping }: { readonly stamping: Pick<Stamping, 'stamp'> }): Tool {
  return createTool({
    name: 'service_stamp_hash',
    description:
      'Obtain a trusted time-stamp for a SHA-256 hash: proof that what has this hash existed at the time of the stamp. Only the ' +
      'hash is sent, never the content. Returns the stamp: token_id, issued_at, content_sha256, token, tier, tsp_provider, ' +
      'is_qualified (whether it is a qualified time-stamp of eIDAS) and verify_url. Keep token_id or token; either verifies the stamp.',
    annotations: { ...stampingAnnotations, title: 'Stamp a hash' },
    arguments: hashOrder,
    answer: stampToken,
    isOfContract: true,
    run: async (order, call) => stampFor(call, stamping, order),
  });
}
