import { sendJson, startStub } from './cli.ts';

/** A model for chat completions: it asks to write one file, and then says that it is done. `seen` has its requests. */
export const startScriptedModel = (file: { readonly name: string; readonly content: string }, says: string) =>
  startStub((response, _request, attempt) => {
    const called = { name: 'write_file', arguments: JSON.stringify(file) };
    const calls = { role: 'assistant', content: null, tool_calls: [{ id: 'call-1', type: 'function', function: called }] };
    sendJson(response, 200, { choices: [{ message: attempt === 1 ? calls : { role: 'assistant', content: says } }] });
  });
