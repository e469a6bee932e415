import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { randomHash } from '../support/requests.ts';
import { serviceToken, startProcess, startProcesses } from '../support/service.ts';

/** Looks at `/health/ready` all the time, as balancers do. Returns a function that puts the APIs that are ready before the others. */
function watchReadiness(urls: readonly string[]): (turn: readonly string[]) => readonly string[] {
  const ready = new Set(urls);
  const watching = setInterval(() => {
    for (const url of urls) {
      fetch(`${url}/health/ready`).then(
        ({ status }) => (status === 200 ? ready.add(url) : ready.delete(url)),
        () => ready.delete(url),
      );
    }
  }, 100);
  onTestFinished(() => clearInterval(watching));
  return (turn) => [...turn.filter((url) => ready.has(url)), ...turn.filter((url) => !ready.has(url))];
}

/** Sends one stamp like a balancer: over kept connections, and to the next API if one does not listen. Rejects if a connection breaks. */
function stampBy(agent: http.Agent, urls: readonly string[]): Promise<number> {
  const [url = '', ...others] = urls;
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'x-service-token': serviceToken };
    const request = http.request(`${url}/api/v1/internal/v1/stamp?details=true`, { method: 'POST', agent, headers }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode ?? 0));
    });
    request.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' && others.length > 0) resolve(stampBy(agent, others));
      else reject(error);
    });
    request.end(JSON.stringify({ hash: randomHash(), tier: 'basic' }));
  });
}

test('E11: a rolling restart of two APIs behind a balancer fails no request', async () => {
  const first = await startProcesses({ workers: 2, settings: { DRAIN_MS: '3000', LOG_LEVEL: 'warn' } });
  const second = await startProcess('api', { ...first.settings, PORT: '0' });
  onTestFinished(async () => void (await second.stop()));
  const agent = new http.Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const urls = [first.url, second.url];
  const readyFirst = watchReadiness(urls);
  const answers: (number | string)[] = [];
  let isOver = false;
  const clients = Array.from({ length: 16 }, async (_, client) => {
    while (!isOver) {
      const turn = (answers.length + client) % 2 ? urls : urls.toReversed();
      answers.push(await stampBy(agent, readyFirst(turn)).catch((error: NodeJS.ErrnoException) => String(error.code)));
      // Some connections are idle when their API stops.
      if (client % 4 === 0) await delay(20 * client);
    }
  });
  await eventually(async () => answers.length > 100);
  await first.api().stop();
  await first.startApi();
  const [port, before] = [new URL(second.url).port, answers.length];
  await eventually(async () => answers.length > before + 100);
  await second.stop();
  const third = await startProcess('api', { ...first.settings, PORT: port });
  onTestFinished(async () => void (await third.stop()));
  const then = answers.length;
  await eventually(async () => answers.length > then + 100);
  isOver = true;
  await Promise.all(clients);
  expect(answers.filter((answer) => answer !== 201)).toEqual([]);
});
