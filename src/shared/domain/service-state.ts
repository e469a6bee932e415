/** How a provider, a part of the service or the whole of it does, best first. */
export const serviceStates = ['operational', 'degraded', 'outage'] as const;
export type ServiceState = (typeof serviceStates)[number];

/**
 * Whether mails leave: `ok`, the server took the last one, or refused that one only; `failing`, it could not be reached or let nobody
 * in; `unknown`, none was sent yet, or no worker is heard; `not_configured`, none can ever be sent (W19).
 */
export const mailStates = ['ok', 'failing', 'unknown', 'not_configured'] as const;
export type MailState = (typeof mailStates)[number];

/**
 * What a crash of the queue's server leaves of accepted stamps: `every_write`, all; `every_second`, all but those of its last second;
 * `none`, perhaps nothing; `unknown`, it does not tell.
 */
export const durabilities = ['every_write', 'every_second', 'none', 'unknown'] as const;
export type Durability = (typeof durabilities)[number];

/**
 * Whether a provider's stamps are qualified. That they are not is known from its configuration; that they are, only once one of its
 * tokens was verified (V9).
 */
export const qualifications = ['qualified', 'not_qualified', 'not_asked'] as const;
export type Qualification = (typeof qualifications)[number];

/**
 * Whether the clock may be vouched for that a key of one's own stamps by: `ok`, others confirm it; `off`, they say it drifts too far;
 * `unknown`, nobody says anything; `unchecked`, nobody is asked.
 */
export const clockStates = ['ok', 'off', 'unknown', 'unchecked'] as const;
export type ClockState = (typeof clockStates)[number];
