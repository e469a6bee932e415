import { z } from 'zod';
import { dateTime } from './fields.ts';
import { stampTier } from './stamp.ts';

const currency = z
  .string()
  .regex(/^[A-Z]{3}$/)
  .describe('ISO 4217');

const tierPrice = z
  .object({
    tier: stampTier,
    method: z.literal('POST'),
    path: z.string(),
    price: z.object({ amount: z.string().regex(/^[0-9]+\.[0-9]{2}$/), currency }).nullable(),
    max_content_bytes: z.int().min(0).describe('0 if no content is allowed'),
  })
  .meta({ id: 'TierPrice' });

export const pricingResponse = z
  .object({
    version: z.string(),
    currency,
    payment_required: z.boolean(),
    payment_header: z.literal('x-payment-transaction'),
    tiers: z.array(tierPrice),
    free: z.array(z.string()).describe('operations that never cost anything'),
    updated_at: dateTime,
  })
  .meta({ id: 'Pricing' });
export type PricingResponse = z.output<typeof pricingResponse>;
