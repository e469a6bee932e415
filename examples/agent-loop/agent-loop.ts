/**
 * A tool-calling loop, every output of which is stamped: what the tools write, and what the model says. The record is closed when the model
 * is done, and stays open when the run fails. See README.md.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Qstamp, type Workflow } from 'qstamp-client';

const { QSTAMP_URL = 'http://127.0.0.1:8080', CLIENT_EMAIL = '', MODEL_URL = '', MODEL_KEY = '', MODEL = '' } = process.env;
const [task = ''] = process.argv.slice(2);
const mostTurns = 20;

interface ToolCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}
interface Message {
  readonly role: string;
  readonly content?: string | null;
  readonly tool_calls?: readonly ToolCall[];
  readonly tool_call_id?: string;
}

const text = { type: 'string' };
const parameters = { type: 'object', properties: { name: text, content: text }, required: ['name', 'content'] };
const tools = [{ type: 'function', function: { name: 'write_file', description: 'Writes a text file.', parameters } }];

/** Any server that speaks chat completions. */
async function ask(messages: readonly Message[]): Promise<Message> {
  const headers = { 'content-type': 'application/json', ...(MODEL_KEY && { authorization: `Bearer ${MODEL_KEY}` }) };
  const body = JSON.stringify({ model: MODEL, messages, tools });
  const response = await fetch(`${MODEL_URL}/chat/completions`, { method: 'POST', headers, body });
  if (!response.ok) throw new Error(`the model answered ${response.status}: ${await response.text()}`);
  const { choices } = (await response.json()) as { choices: [{ message: Message }] };
  return choices[0].message;
}

/** Writes below outputs/, whatever folder the model names, and stamps what was written. */
async function writeAndStamp({ function: called }: ToolCall, workflow: Workflow): Promise<string> {
  if (called.name !== 'write_file') return `There is no tool ${called.name}.`;
  const { name, content } = JSON.parse(called.arguments) as { name: string; content: string };
  const path = join('outputs', basename(name));
  await mkdir('outputs', { recursive: true });
  await writeFile(path, content);
  const { sequence_number } = await workflow.stampFile(path, {
    output_type: 'text',
    output_metadata: { name: basename(path), public: true },
  });
  return `Wrote ${path}, output ${sequence_number}.`;
}

const qstamp = new Qstamp({ url: QSTAMP_URL });
await qstamp.workflow({ user_email: CLIENT_EMAIL, agent_id: MODEL, briefing: task }, async (workflow) => {
  console.log(workflow.pageUrl);
  const messages: Message[] = [{ role: 'user', content: task }];
  for (let turn = 0; turn < mostTurns; turn += 1) {
    const message = await ask(messages);
    messages.push(message);
    if (message.content) await workflow.stampText(message.content);
    if (!message.tool_calls?.length) return console.log(message.content);
    for (const call of message.tool_calls) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: await writeAndStamp(call, workflow) });
    }
  }
  throw new Error(`the model was not done after ${mostTurns} turns`);
});
