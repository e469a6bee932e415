import type { Deployment, Trial } from './deployment.ts';
import { confinement, contents, signals } from './image-trials.ts';
import { clientOf, expectEachOnce, type Stamped, stampUnderLoad } from './load.ts';
import { mistakes } from './mistakes.ts';
import { until } from './until.ts';

const stampsPerTrial = 500;
/** All stamps that were answered with 201 in any trial. */
const stamped: Stamped[] = [];

const seconds = (sinceMs: number) => `${((Date.now() - sinceMs) / 1_000).toFixed(1)} s`;

async function fetchText(url: string, accept: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(url, { headers: { accept } });
  return { status: answer.status, text: await answer.text() };
}

/** Resolves when `count` containers of the service run, and are healthy if they have a health check. */
const untilWell = (deployment: Deployment, service: string, count: number) =>
  until(`${count} of ${service} are well`, async () => {
    const well = (await deployment.inspect(service)).filter(
      ({ State }) => State.Running && (State.Health?.Status || 'healthy') === 'healthy',
    );
    return well.length === count;
  });

const up: Trial = {
  title: 'README: docker compose up --build --detach --wait',
  limitSeconds: 300,
  run: async ({ compose, url }) => {
    const began = Date.now();
    await compose(['up', '--build', '--detach', '--wait']);
    const { text } = await fetchText(`${url}/health/`, 'application/json');
    if (!text.includes('"status":"ok"')) throw new Error(text);
    return `all well after ${seconds(began)}`;
  },
};

const stampAndVerify: Trial = {
  title: 'stamp, verify, page',
  limitSeconds: 60,
  run: async (deployment) => {
    const qstamp = clientOf(deployment);
    const stamp = await qstamp.stampText('containers for real');
    const { valid } = await qstamp.verify(stamp.token_id);
    const page = await fetchText(qstamp.addressOf(stamp.verify_url), 'application/xhtml+xml');
    if (!valid || page.status !== 200 || !page.text.includes(stamp.token_id)) throw new Error(`valid: ${valid}, page: ${page.status}`);
    if (stamp.tsp_provider !== 'local-tsa') throw new Error(`stamped by ${stamp.tsp_provider}`);
    return `valid, by ${stamp.tsp_provider}; its page shows it`;
  },
};

const workflowWithMail: Trial = {
  title: 'workflow with mail, confirmed by its link',
  limitSeconds: 120,
  run: async (deployment) => {
    const client = { user_email: 'client@example.com', agent_id: 'agent-7', briefing: 'Containers.', tier: 'verified' } as const;
    const workflow = await clientOf(deployment).startWorkflow(client);
    const mail = await until('the mail arrives', async () => {
      const { messages }: { messages: { ID: string; To: { Address: string }[] }[] } = JSON.parse(
        (await fetchText(`${deployment.mailUrl}/api/v1/messages`, 'application/json')).text,
      );
      return messages.find(({ To }) => To[0]?.Address === client.user_email);
    });
    const { Text }: { Text: string } = JSON.parse(
      (await fetchText(`${deployment.mailUrl}/api/v1/message/${mail.ID}`, 'application/json')).text,
    );
    const link = /http:\/\/127\.0\.0\.1:\S+\/c\/\S+|http:\/\/127\.0\.0\.1:\S+/.exec(Text)?.[0] ?? '';
    const opened = await fetchText(link, 'application/json');
    if (opened.status !== 200) throw new Error(`the link answers ${opened.status}: ${opened.text}`);
    await workflow.stampText('The summary.');
    await workflow.complete();
    const page = await until('its page is checked', async () => {
      const { text } = await fetchText(workflow.pageUrl, 'application/xhtml+xml');
      return !text.includes('Still being checked') && text;
    });
    if (!/Merkle root/i.test(page)) throw new Error(`the page of ${workflow.id} shows no Merkle root`);
    return 'mailed, confirmed, stamped, completed; its page shows the root';
  },
};

const prometheus: Trial = {
  title: 'Prometheus scrapes API and worker, and has our alerts',
  limitSeconds: 120,
  run: async ({ prometheusUrl }) => {
    const ask = async (path: string) => JSON.parse((await fetchText(`${prometheusUrl}${path}`, 'application/json')).text).data;
    const jobs = await until('both are scraped', async () => {
      const { activeTargets }: { activeTargets: { health: string; labels: { job: string } }[] } = await ask('/api/v1/targets');
      const healthy = activeTargets.filter(({ health }) => health === 'up').map(({ labels }) => labels.job);
      return healthy.includes('api') && healthy.includes('worker') && healthy;
    });
    const { groups }: { groups: { rules: { name: string; health: string }[] }[] } = await ask('/api/v1/rules');
    const rules = groups.flatMap((group) => group.rules);
    if (rules.length === 0 || rules.some(({ health }) => health === 'err')) throw new Error(JSON.stringify(rules));
    return `${jobs.length} up, ${rules.length} alerts`;
  },
};

/** The result for the table, after `expectEachOnce` has checked the stamps. */
function summaryOf(made: readonly Stamped[]): string {
  const refused = made.filter(({ refusals }) => refusals > 0).length;
  return `${made.length} got 201${refused > 0 ? `, ${refused} of them after 502` : ''}, 0 lost, 0 doubled`;
}

const killed = (service: string, count = 1): Trial => ({
  title: `${stampsPerTrial} stamps under load while ${service} is killed`,
  limitSeconds: 240,
  run: async (deployment) => {
    const before = await deployment.inspect(service);
    let back = '';
    const made = await stampUnderLoad(deployment, stampsPerTrial, async () => {
      const began = Date.now();
      await deployment.crash(service);
      await until(`${service} was restarted`, async () => {
        const now = await deployment.inspect(service);
        return (
          now.length === count && now.every(({ State }) => State.Running && before.every((old) => old.State.StartedAt !== State.StartedAt))
        );
      });
      await untilWell(deployment, service, count);
      back = seconds(began);
    });
    await expectEachOnce(deployment, made);
    stamped.push(...made);
    return `back and well after ${back}; ${summaryOf(made)}`;
  },
});

const scaled: Trial = {
  title: `${stampsPerTrial} stamps under load while workers are scaled 1 → 3 → 1`,
  limitSeconds: 240,
  run: async (deployment) => {
    const made = await stampUnderLoad(deployment, stampsPerTrial, async () => {
      for (const count of [3, 1]) {
        await deployment.compose(['up', '--detach', '--no-recreate', '--scale', `worker=${count}`, 'worker']);
        await untilWell(deployment, 'worker', count);
      }
    });
    await expectEachOnce(deployment, made);
    stamped.push(...made);
    return summaryOf(made);
  },
};

const kept: Trial = {
  title: 'down, and up again with the volumes kept',
  limitSeconds: 240,
  run: async (deployment) => {
    await deployment.compose(['down']);
    await deployment.compose(['up', '--detach', '--wait']);
    await expectEachOnce(deployment, stamped);
    return `${stamped.length} stamps exist once each, and verify`;
  },
};

/** The trials run in this order: before the first trials nothing is running, and the last trial removes everything. */
export const trials: readonly Trial[] = [
  ...mistakes,
  up,
  contents,
  confinement,
  stampAndVerify,
  workflowWithMail,
  prometheus,
  ...['redis', 'mongodb', 'worker', 'api', 'tsa'].map((service) => killed(service)),
  scaled,
  kept,
  signals,
];
