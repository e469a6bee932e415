/** Sends mail over SMTP. */
export { createMailTransport, MailError, type MailTransport, type Message, withMailRecord } from './transport.ts';
