import { z } from 'zod';

/** `/openapi.json` as it describes itself. */
export const openApiDocument = z.looseObject({ openapi: z.string() });
