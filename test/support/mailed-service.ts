import { type MailServer, smtpReply, startMailServer } from './mail.ts';
import { type Service, type Settings, startService } from './service.ts';

interface MailedService {
  readonly service: Omit<Service, 'stop' | 'startApi'>;
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

const running = new Map<string, Promise<MailedService>>();

/** The one service with these settings in this test process that sends mails to a real SMTP server. It has no limit of starts, the server refuses addresses that start with `nobody.`, and both run until the process ends. */
export function mailedService(settings: Settings = {}): Promise<MailedService> {
  const key = JSON.stringify(settings);
  const one = running.get(key) ?? start(settings);
  running.set(key, one);
  return one;
}
