import { z } from 'zod';

/** The events of a webhook, sent in the header `Qstamp-Event` (N3). */
export const webhookEvents = ['stamp.made', 'output.made', 'workflow.confirmed', 'workflow.completed'] as const;

/**
 * The address of a webhook and the product that asked for it, encrypted under the key of its stamp. Sealed content has a secret address of its own.
 * Stamps that earlier versions accepted have no product.
 */
export const callbackSchema = z.object({ url: z.string(), sealed_storage_url: z.string().nullable(), product: z.string().optional() });
export type Callback = z.output<typeof callbackSchema>;
