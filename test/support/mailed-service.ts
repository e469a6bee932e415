import { type MailServer, smtpReply, startMailServer } from './mail.ts';
import { type Service, type Settings, startService } from './service.ts';
import { share } from './shared.ts';

interface MailedService {
  readonly service: Service;
  readonly mail: MailServer;
}

async function start(settings: Settings): Promise<MailedService> {
  const mail = await startMailServer({
    keep: true,
    onRcptTo: ({ address }, _session, done) =>
      done(address.startsWith('nobody.') ? smtpReply(550, `5.1.1 <${address}>: no such mailbox`) : null),
  });
  const defaults = {
    SMTP_URL: mail.url,
    MAIL_FROM: 'qstamp <no-reply@qstamp.example>',
    OTP_TTL_MINUTES: '20',
    RATE_WORKFLOW_START_PER_HOUR: '0',
  };
  return { mail, service: await startService({ keep: true, settings: { ...defaults, ...settings } }) };
}

/**
 * The service with these settings that the test files of this process share, and its real SMTP server. It has no limit of starts, and the server
 * refuses addresses that start with `nobody.`.
 */
export const mailedService = (settings: Settings = {}): Promise<MailedService> =>
  share(
    `mailed ${JSON.stringify(settings)}`,
    () => start(settings),
    ({ service, mail }) => service.stop().then(() => mail.close()),
  );
