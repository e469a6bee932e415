/** The processes of the service, with the arguments of Node.js for each. `npm start`, the container image and compose run exactly these. */
export const serviceProcesses = {
  api: ['src/api/main.ts'],
  worker: ['src/workers/main.ts'],
  tsa: ['src/tsa/main.ts'],
} as const;

export type ServiceProcess = keyof typeof serviceProcesses;
