import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createViewEngine, viewsFolder } from '../../../../shared/views/engine.ts';
import type { Evidence } from './contents.ts';

const engine = createViewEngine();
let script: string | undefined;

/** `verify.sh`, which checks a bundle with `openssl` and `sha256sum` alone. */
export function verifyScript(): string {
  script ??= readFileSync(join(viewsFolder, 'bundle/verify.sh'), 'utf8');
  return script;
}

/** `README.txt`, for people who know neither hashes nor us. It claims only what was verified for this very bundle (V9). */
export function readmeOf({ record, root, closing, certificates }: Evidence, fingerprintShown: (hex: string) => string): string {
  const anchors = certificates().filter(({ role }) => role === 'trust_anchor');
  return engine.render('/bundle/readme', { record, root, closing, anchors, fingerprintShown });
}
