import { type MailServer, startMailServer } from './mail.ts';
import { type Service, type Settings, startService } from './service.ts';

/** A service for all tests of a file, without the limit of starts, with mails to a real SMTP server. */
export async function startMailedService(
  settings: Settings = {},
): Promise<{ readonly service: Service; readonly mail: MailServer; readonly stop: () => Promise<void> }> {
  const mail = await startMailServer({ keep: true });
  const defaults = { SMTP_URL: mail.url, MAIL_FROM: 'qstamp <no-reply@qstamp.example>', RATE_WORKFLOW_START_PER_HOUR: '0' };
  const service = await startService({ keep: true, settings: { ...defaults, ...settings } });
  const stop = async () => {
    await service.stop();
    await mail.close();
  };
  return { service, mail, stop };
}
