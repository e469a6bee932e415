import { z } from 'zod';

/** `/openapi.json`, as documented in itself. */
export const openApiDocument = z.looseObject({ openapi: z.string() });
