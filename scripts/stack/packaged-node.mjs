import { existsSync } from 'node:fs';
import path from 'node:path';

/** Whether this Node is at least 24.16: it runs TypeScript as it is, and makes UUIDs of version 7. */
export const isNode24 = () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > 24 || (major === 24 && minor >= 16);
};

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
