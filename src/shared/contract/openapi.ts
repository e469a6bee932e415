import { z } from 'zod';

/** The answer of `/openapi.json`, as this document describes itself. */
export const openApiDocument = z.looseObject({ openapi: z.string() });
