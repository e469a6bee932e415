/** How a provider, a part of the service or the whole of it does, best first. */
export const serviceStates = ['operational', 'degraded', 'outage'] as const;
export type ServiceState = (typeof serviceStates)[number];
