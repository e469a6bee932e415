// @ts-check
// Shows the OpenAPI document with Swagger UI. The page loads Swagger UI before this script.

const { SwaggerUIBundle } = /** @type {{ SwaggerUIBundle: (options: object) => void }} */ (/** @type {unknown} */ (globalThis));

// Swagger UI has dark colours, but only a class selects them.
const dark = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followScheme);
followScheme();

SwaggerUIBundle({
  dom_id: '#viewer',
  url: '/openapi.json',
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  // Colours make a large answer slow.
  syntaxHighlight: { activated: false },
  // The schemas of an operation are shown with it.
  defaultModelsExpandDepth: -1,
  // There is only one server, and the list of servers has no label.
  plugins: [{ components: { ServersContainer: () => null } }],
  // By default, Swagger UI shows a badge from another site.
  validatorUrl: null,
  // Swagger UI offers a file only with this header. RFC 3161 clients need none, so the service does not send it.
  responseInterceptor: (/** @type {{ headers: Record<string, string> }} */ response) => {
    if (response.headers['content-type'] === 'application/timestamp-reply') {
      response.headers['content-disposition'] ??= 'attachment; filename="answer.tsr"';
    }
    return response;
  },
});
