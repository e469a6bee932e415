import { existsSync } from 'node:fs';
import path from 'node:path';

/** Whether this Node runs TypeScript as it is. */
export const isNode24 = () => Number(process.versions.node.split('.')[0]) >= 24;

/**
 * The Node 24 among the dependencies of the checkout at `root`; where they have none for this platform, our own when it is new
 * enough; else undefined.
 *
 * @param {string} root
 * @returns {string | undefined}
 */
export function findNode24(root) {
  const packaged = path.join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  if (existsSync(packaged)) return packaged;
  return isNode24() ? process.execPath : undefined;
}
