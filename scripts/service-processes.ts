/** The processes of the service and the Node.js arguments of each: `npm start`, the container image and compose run exactly these. */
export const serviceProcesses = {
  api: ['src/api/main.ts'],
  worker: ['src/workers/main.ts'],
  tsa: ['src/tsa/main.ts'],
} as const;

export type ServiceProcess = keyof typeof serviceProcesses;
