import { z } from 'zod';

/** What the receiver of a webhook is told about, in the header `Qstamp-Event` (N3). */
export const webhookEvents = ['stamp.made', 'output.made', 'workflow.confirmed', 'workflow.completed'] as const;

/**
 * Where a webhook goes, and which product asked for it, as it travels: encrypted under the key of its stamp. Sealed content has an address of its own,
 * which nobody else knows. Stamps that earlier versions accepted name no product.
 */
export const callbackSchema = z.object({ url: z.string(), sealed_storage_url: z.string().nullable(), product: z.string().optional() });
export type Callback = z.output<typeof callbackSchema>;
