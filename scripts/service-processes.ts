/** The processes of the service and what Node is given to run each: `npm start`, the container image and compose run these and no others. */
export const serviceProcesses = {
  api: ['src/api/main.ts'],
  worker: ['src/workers/main.ts'],
  tsa: ['src/tsa/main.ts'],
} as const;

export type ServiceProcess = keyof typeof serviceProcesses;
