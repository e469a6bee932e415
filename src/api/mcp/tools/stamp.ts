import type { StampOrder, StampToken } from '../../../shared/contract/stamp.ts';
import type { Stamping } from '../../services/stamping.ts';
import type { ToolCall } from './tool.ts';

/** What tools that stamp tell assistants about themselves: they delete and change nothing, but the same call twice makes two stamps. */
export const stampingAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true } as const;

/** Stamps for the product whose token the call carries. @throws ServiceError as `Stamping.stamp` does. */
export async function stampFor(call: ToolCall, stamping: Pick<Stamping, 'stamp'>, order: StampOrder): Promise<StampToken> {
  const { product, requestId, idempotencyKey } = call;
  const { stamp, isReplayed } = await stamping.stamp({
    order,
    caller: { kind: 'mcp', product },
    callerId: `product:${product}`,
    requestId,
    idempotencyKey,
    paymentClaim: undefined,
  });
  if (isReplayed) call.onReplayed();
  return stamp;
}
