import type { PricingResponse } from '../../shared/contract/pricing.ts';
import { stampTiers } from '../../shared/domain/tiers.ts';

/** ISO 4217; and when the prices below were set. */
const currency = 'EUR';
const updatedAt = '2026-11-21T00:00:00Z';

const free = [
  'GET /api/v1/verify/v1/token/{token_id}',
  'POST /api/v1/verify/v1/raw',
  'POST /api/v1/workflow/start',
  'GET /workflow/{workflow_id}',
  'GET /api/v1/status',
];

/** What agents pay: nothing so far, whatever `x-payment-transaction` says (S10). */
export const pricingOf = ({ version, sealedMaxBytes }: { version: string; sealedMaxBytes: number }): PricingResponse => ({
  version,
  currency,
  payment_required: false,
  payment_header: 'x-payment-transaction',
  tiers: stampTiers.map((tier) => ({
    tier,
    method: 'POST',
    path: `/api/v1/agent/v1/stamp/${tier}`,
    price: { amount: '0.00', currency },
    max_content_bytes: tier === 'sealed' ? sealedMaxBytes : 0,
  })),
  free,
  updated_at: updatedAt,
});
