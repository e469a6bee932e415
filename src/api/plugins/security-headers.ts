import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';

const self = ["'self'"];
const none = ["'none'"];

/** Headers of every answer: nothing from elsewhere, no framing, no sniffing; JSON is not stored unless its route says otherwise. */
export async function registerSecurityHeaders(app: FastifyInstance): Promise<void> {
  await app.register(helmet, {
    global: true,
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: none,
        styleSrc: self,
        scriptSrc: self,
        imgSrc: ["'self'", 'data:'],
        connectSrc: self,
        formAction: self,
        baseUri: none,
        frameAncestors: none,
      },
    },
    frameguard: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
  });

  app.addHook('onSend', (_request, reply, payload, done) => {
    const type = reply.getHeader('content-type');
    if (!reply.hasHeader('cache-control') && typeof type === 'string' && type.startsWith('application/json')) {
      reply.header('Cache-Control', 'no-store');
    }
    done(null, payload);
  });
}
