import { Redis } from 'ioredis';

/** Closes the connections to a Redis database with this name; their owners may reconnect. */
export async function cutConnections(url: string, name: string): Promise<void> {
  const redis = new Redis(url);
  try {
    const db = new URL(url).pathname.slice(1) || '0';
    const clients = String(await redis.client('LIST')).split('\n');
    const ids = clients
      .filter((client) => client.includes(`name=${name} `) && client.includes(`db=${db} `))
      .flatMap((client) => /^id=(\d+)/.exec(client)?.[1] ?? []);
    if (ids.length === 0) throw new Error(`no connection is called ${name}`);
    for (const id of ids) await redis.client('KILL', 'ID', id);
  } finally {
    redis.disconnect();
  }
}
