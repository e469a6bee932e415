import { z } from 'zod';

/**
 * The data for the webhook of a stamp: the receiver's address, the secret address of sealed content, and the product that asked for the webhook.
 * It is stored encrypted with the key of the stamp.
 */
export const callbackSchema = z.object({ url: z.string(), sealed_storage_url: z.string().nullable(), product: z.string() });
export type Callback = z.output<typeof callbackSchema>;
