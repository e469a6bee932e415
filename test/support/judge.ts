import type { VerifyResult } from '../../src/shared/rfc3161/tsp/types.ts';
import { verifyResponse, verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { LAB_NOW_MS, type Specimen } from './tsa-lab.ts';

/** Verifies a specimen of the lab with its own settings: as the answer to its request, or raw. */
export function judge(specimen: Specimen): Promise<VerifyResult> {
  const trust = createTrustStore({ anchors: specimen.anchors, crls: specimen.crls });
  const { answer, nowMs } = specimen;
  if (specimen.withoutRequest) return verifyToken(answer, { trust, nowMs });
  return verifyResponse(answer, { trust, nowMs, request: specimen.asked.der, sentAtMs: LAB_NOW_MS, receivedAtMs: nowMs });
}
