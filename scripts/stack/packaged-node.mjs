import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

/**
 * Whether a version of Node.js is at least 24.16: only then it runs TypeScript directly and makes UUIDs of version 7.
 *
 * @param {string} version as `node --version` prints it, with or without the `v`
 */
export const isNode24 = (version = process.versions.node) => {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return major > 24 || (major === 24 && minor >= 16);
};

/**
 * The path of the Node.js for scripts of the checkout at `root`: the machine's own if it is 24.16 or newer, otherwise the one among the dependencies.
 * Undefined if they have none for this platform.
 *
 * npm puts the commands of the dependencies first on PATH, so under `npm start` the Node.js of the dependencies may run us. npm tells us which
 * Node.js runs npm itself.
 *
 * @param {string} root
 * @param {{ running?: string, npmNode?: string | undefined }} [machine] the Node.js that runs us, and the Node.js that runs npm
 * @returns {string | undefined}
 */
export function findNode24(root, { running = process.execPath, npmNode = process.env.npm_node_execpath } = {}) {
  const modules = path.join(root, 'node_modules');
  const own = [running, npmNode].find((node) => node !== undefined && !node.startsWith(modules + path.sep));
  if (own !== undefined && isNode24(own === process.execPath ? process.version : versionOf(own))) return own;
  const packaged = path.join(modules, `node-${process.platform}-${process.arch}`, 'bin', 'node');
  return existsSync(packaged) ? packaged : undefined;
}

/** @param {string} node */
const versionOf = (node) => spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout ?? '';
