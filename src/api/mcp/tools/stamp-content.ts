import { stampContentArguments } from '../../../shared/contract/mcp.ts';
import { type StampRequest, stampRequestFor, stampToken } from '../../../shared/contract/stamp.ts';
import type { Stamping } from '../../services/stamping.ts';
import { stampFor, stampingAnnotations } from './stamp.ts';
import { createTool, type Tool } from './tool.ts';

/** Always tier sealed (M3). */
export function createStampContentTool(deps: { readonly stamping: Pick<Stamping, 'stamp'>; readonly sealedMaxBytes: number }): Tool {
  const { stamping, sealedMaxBytes } = deps;
  const order = stampRequestFor({ tier: 'sealed', sealedMaxBytes });
  const contentOrder = stampContentArguments
    .transform(({ content_b64, metadata }): StampRequest => ({ content_b64, metadata }))
    .pipe(order);
  return createTool({
    name: 'service_stamp_content',
    description:
      `Store content of at most ${sealedMaxBytes} bytes and obtain a trusted time-stamp for its SHA-256 hash (tier sealed). Returns ` +
      'the stamp, with sealed_storage_url: a secret relative address that gives the content back to whoever holds it. To keep the ' +
      'content to yourself, compute its SHA-256 and call service_stamp_hash instead.',
    annotations: { ...stampingAnnotations, title: 'Store and stamp content' },
    arguments: contentOrder,
    answer: stampToken,
    isOfContract: true,
    run: async (sealed, call) => stampFor(call, stamping, sealed),
  });
}
