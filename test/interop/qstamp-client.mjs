// @ts-nocheck: it is read by other runtimes, where the package was installed.
/**
 * `qstamp-client` in another runtime than the one that it was written in: `<address of the service> <service token>`. It is run from the folder that
 * the package was installed into. Prints a line for each step, `name: ok` or what is wrong.
 */
import { InvalidRequest, Qstamp, requireValid, ServiceUnreachable, verifyWebhook } from 'qstamp-client';

const runtime = globalThis.Deno ?? globalThis.process;
const [url, serviceToken] = globalThis.Deno ? Deno.args : process.argv.slice(2);
const qstamp = new Qstamp({ url, serviceToken });
const text = 'hello';
const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
const expect = (found, wanted) => {
  if (found !== wanted) throw new Error(`${found} instead of ${wanted}`);
};
const thrown = (call) => call.then(() => undefined).catch((error) => error);

const steps = {
  'stamp a file, and verify it': async () => {
    const stamp = await qstamp.stampFile('output.txt');
    expect(stamp.content_sha256, hash);
    requireValid(await qstamp.verifyFile('output.txt', stamp));
    requireValid(await qstamp.verify(stamp.token_id));
  },
  'stamp a stream, a Blob and a text': async () => {
    const made = [
      await qstamp.stampBytes(new Blob([text]).stream()),
      await qstamp.stampFile(new Blob([text])),
      await qstamp.stampText(text),
    ];
    for (const { content_sha256 } of made) expect(content_sha256, hash);
  },
  'send content': async () => {
    const { sealed_storage_url } = await qstamp.stampText(text, { sendContent: true });
    expect(await (await fetch(qstamp.addressOf(sealed_storage_url))).text(), text);
  },
  'keep a workflow': async () => {
    const run = { user_email: 'client@example.com', agent_id: 'runtime', briefing: text };
    const workflow = await qstamp.workflow(run, async (each) => {
      const made = await Promise.all([each.stampText('one'), each.stampText('two')]);
      expect(made.map(({ sequence_number }) => sequence_number).join(), '1,2');
      return each;
    });
    expect((await workflow.state()).status, 'completed');
  },
  'stamp later, and wait for it': async () => {
    const accepted = await qstamp.later.stampText(text);
    expect(accepted.status, 'accepted');
    expect((await qstamp.untilStamped(accepted)).content_sha256, hash);
  },
  'tell errors apart': async () => {
    expect((await thrown(qstamp.stampText(text, { metadata: { a: 'b'.repeat(5_000) } }))) instanceof InvalidRequest, true);
    const nobody = new Qstamp({ url: 'http://127.0.0.1:9', maxRetries: 1 });
    expect((await thrown(nobody.stampText(text))) instanceof ServiceUnreachable, true);
  },
  'verify a webhook': async () => {
    // A published example of Standard Webhooks (Svix, verifying webhooks manually).
    const headers = {
      'webhook-id': 'msg_loFOjxBNrRLzqYUf',
      'webhook-timestamp': '1731705121',
      'webhook-signature': 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
    };
    const options = { secret: 'whsec_plJ3nmyCDGBKInavdOK15jsl', now: 1731705121 };
    const body = '{"event_type":"ping","data":{"success":true}}';
    expect((await verifyWebhook(body, headers, options)).event_type, 'ping');
    expect((await thrown(verifyWebhook(`${body} `, headers, options)))?.name, 'WebhookRefused');
  },
};

let failed = false;
for (const [name, step] of Object.entries(steps)) {
  const fault = await thrown(step());
  failed ||= fault !== undefined;
  console.log(`${name}: ${fault ?? 'ok'}`);
}
runtime.exit(failed ? 1 : 0);
