#!/usr/bin/env node
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major > 22 || (major === 22 && minor >= 12)) {
  const { runAsProcess } = await import('../dist/src/cli/process.js');
  await runAsProcess(process);
} else {
  process.stderr.write(`qstamp needs Node 22.12 or newer, and this is Node ${process.versions.node} (https://nodejs.org)\n`);
  process.exitCode = 2;
}
