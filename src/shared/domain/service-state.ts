/** The state of a provider, a part of the service or the whole service, best first. */
export const serviceStates = ['operational', 'degraded', 'outage'] as const;
export type ServiceState = (typeof serviceStates)[number];

/**
 * Whether mail works (W19). `ok`: the mail server accepted the last mail, or refused only this single mail. `failing`: the server was not reachable
 * or refused the login. `unknown`: no mail was sent yet, or no worker reports. `not_configured`: mail cannot be sent.
 */
export const mailStates = ['ok', 'failing', 'unknown', 'not_configured'] as const;
export type MailState = (typeof mailStates)[number];

/**
 * Which accepted stamps survive a crash of the queue's server. `every_write`: all. `every_second`: all except those of the last second before the
 * crash. `none`: perhaps none. `unknown`: the server does not say.
 */
export const durabilities = ['every_write', 'every_second', 'none', 'unknown'] as const;
export type Durability = (typeof durabilities)[number];

/** What every accepted stamp survives: a failover of the queue to another server (and a crash), a crash of its server, neither, or it is unknown. */
export const survivals = ['failover', 'crash', 'nothing', 'unknown'] as const;
export type Survival = (typeof survivals)[number];

/** @param replicas how many replicas must have a job on disk before it counts as accepted */
export function survivalOf(durability: Durability, replicas: number): Survival {
  if (durability === 'none') return 'nothing';
  if (replicas > 0) return 'failover';
  if (durability === 'every_second') return 'nothing';
  return durability === 'every_write' ? 'crash' : 'unknown';
}

/**
 * Whether a provider's stamps are qualified (V9). `qualified`: a verified token has shown it. `not_asked`: the provider is configured as qualified,
 * but no token was verified yet.
 */
export const qualifications = ['qualified', 'not_qualified', 'not_asked'] as const;

/**
 * Whether the clock for the service's own signing key is reliable. `ok`: the reference clocks confirm it. `off`: they show that it drifts too far.
 * `unknown`: no reference clock answers. `unchecked`: no reference clock is asked.
 */
export const clockStates = ['ok', 'off', 'unknown', 'unchecked'] as const;
export type ClockState = (typeof clockStates)[number];

/**
 * The state of a trusted list. `due_soon`: its next update is due within seven days. `expired`: the update is overdue. `closed`: the scheme has
 * ended, and no update will come. `missing`: no list of this country was accepted yet.
 */
export const listStates = ['current', 'due_soon', 'expired', 'closed', 'missing'] as const;
export type ListState = (typeof listStates)[number];
