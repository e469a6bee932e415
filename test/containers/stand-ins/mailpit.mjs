/** Replaces Mailpit if its image cannot be pulled: SMTP on port 1025, and on port 8025 the parts of its API that the tests use. */
import { createServer } from 'node:http';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';

/** @type {{ ID: string, To: { Address: string }[], Subject: string, Text: string }[]} */
const mails = [];
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData(stream, session, done) {
    /** @type {Buffer[]} */
    const chunks = [];
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.once('end', async () => {
      const { subject = '', text = '' } = await PostalMime.parse(Buffer.concat(chunks));
      const To = session.envelope.rcptTo.map(({ address }) => ({ Address: address }));
      mails.unshift({ ID: String(mails.length + 1), To, Subject: subject, Text: text });
      done();
    });
  },
});
const http = createServer(({ url = '' }, response) => {
  const id = /^\/api\/v1\/message\/(\d+)$/.exec(url)?.[1];
  const found = id === undefined ? { messages: mails, total: mails.length } : mails.find(({ ID }) => ID === id);
  const isKnown = url === '/api/v1/messages' || (id !== undefined && found !== undefined);
  response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(isKnown ? found : {}));
});
smtp.listen(1025, '0.0.0.0');
http.listen(8025, '0.0.0.0');
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
