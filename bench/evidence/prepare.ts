import { createSecretKey } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newMasterKey } from '../../scripts/stack/master-key.ts';
import { createLogger } from '../../src/shared/runtime/log.ts';
import { openStore } from '../../src/shared/store/store.ts';
import { createPki } from '../../src/tsa/pki.ts';
import { createTsaServer } from '../../src/tsa/server.ts';
import { startProcesses } from '../processes.ts';
import { fill, hashOf } from './fill.ts';

/** Two completed workflows, and what an API needs to give away their bundles. */
export interface Prepared {
  /** Completed without an output. */
  readonly small: string;
  readonly large: string;
  readonly settings: NodeJS.ProcessEnv;
  /** PEM. */
  readonly anchor: string;
}

/**
 * Completes a workflow with so many outputs and one with none, as the service does it but for the stamps of the outputs, which are written
 * straight into the store. What an earlier run has left in `folder` is taken as it is.
 */
export async function prepare(folder: string, servers: { redisUrl: string; mongoUrl: string }, outputs: number): Promise<Prepared> {
  const note = join(folder, 'prepared.json');
  const settingsOf = (masterKey: string): NodeJS.ProcessEnv => ({
    ...process.env,
    REDIS_URL: servers.redisUrl,
    MONGODB_URL: servers.mongoUrl,
    MASTER_KEY: masterKey,
    PORT: '0',
    LOG_LEVEL: 'error',
    TSP: 'file',
    TSP_PROVIDERS_FILE: join(folder, 'providers.json'),
    STAMP_WAIT_MS: '120000',
    RATE_WORKFLOW_START_PER_HOUR: '0',
    RATE_VERIFY_PER_MINUTE: '0',
  });
  const anchor = join(folder, 'root.pem');
  if (existsSync(note)) {
    const { masterKey, small, large } = JSON.parse(readFileSync(note, 'utf8')) as Record<string, string>;
    return { small: String(small), large: String(large), settings: settingsOf(String(masterKey)), anchor };
  }
  const closing: (() => unknown)[] = [];
  try {
    const pki = createPki({ nowMs: Date.now() });
    const tsa = createTsaServer({ pki, clock: Date.now });
    writeFileSync(anchor, pki.rootPem);
    writeFileSync(
      join(folder, 'providers.json'),
      JSON.stringify([{ name: 'bench', url: await tsa.listen(), trust_anchors_file: 'root.pem' }]),
    );
    closing.push(() => tsa.close());
    const masterKey = newMasterKey();
    const settings = settingsOf(masterKey);
    const log = createLogger({ level: 'error', process: 'bench' });
    const store = openStore({ MONGODB_URL: servers.mongoUrl, MASTER_KEY: createSecretKey(masterKey, 'base64') }, log);
    closing.push(() => store.close());
    await store.openKeys();
    const running = await startProcesses(['src/workers/main.ts', 'src/api/main.ts'], settings);
    closing.push(() => running.stop());

    const post = async (path: string, body: object | undefined, token?: string) => {
      const headers = { ...(body && { 'content-type': 'application/json' }), ...(token && { authorization: `Workflow ${token}` }) };
      const response = await fetch(`${running.url}${path}`, { method: 'POST', headers, ...(body && { body: JSON.stringify(body) }) });
      return (await response.json()) as Record<string, string>;
    };
    const completeWith = async (count: number): Promise<string> => {
      const asked = { user_email: 'a@example.com', agent_id: 'bench', briefing_hash: hashOf(0) };
      const { workflow_id: workflowId = '', workflow_token: token } = await post('/api/v1/workflow/start', asked);
      const startedAt = performance.now();
      await fill(store, { workflowId, briefingHash: asked.briefing_hash }, pki, count);
      console.log(`${count} outputs and their stamps written in ${Math.round((performance.now() - startedAt) / 1000)} s`);
      // On a busy machine that takes longer than anybody is kept waiting (E11).
      for (let tries = 1; tries <= 20; tries += 1) {
        const completed = await post(`/api/v1/workflow/${workflowId}/complete`, undefined, token);
        if (completed.status === 'completed') return workflowId;
        console.log(`not completed yet: ${JSON.stringify(completed)}`);
      }
      throw new Error('the workflow was not completed');
    };
    const small = await completeWith(0);
    const large = await completeWith(outputs);
    writeFileSync(note, JSON.stringify({ masterKey, small, large }));
    return { small, large, settings, anchor };
  } finally {
    for (const close of closing.reverse()) await close();
  }
}
