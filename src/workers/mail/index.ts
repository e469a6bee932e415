/** Sends mail over SMTP. */
export { MailError, type Message, openMail } from './transport.ts';
