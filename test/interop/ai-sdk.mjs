// @ts-nocheck: it is run where the packages of the recipe are installed.
/** The tool of `examples/ai-sdk`, called by the AI SDK for its own mock model: <name of the file> <its content>. */
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { saveAndStamp } from './save-and-stamp.mjs';

const [name, content] = process.argv.slice(2);
const usage = { inputTokens: {}, outputTokens: {} };
const call = { type: 'tool-call', toolCallId: '1', toolName: 'saveAndStamp', input: JSON.stringify({ name, content }) };
const model = new MockLanguageModelV4({
  doGenerate: [
    { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] },
    { content: [{ type: 'text', text: 'It is saved.' }], finishReason: { unified: 'stop' }, usage, warnings: [] },
  ],
});
const { text } = await generateText({ model, tools: { saveAndStamp }, stopWhen: isStepCount(5), prompt: 'Write a haiku.' });
const told = JSON.stringify(model.doGenerateCalls[1].prompt.at(-1));
if (!told.includes('existed_at')) throw new Error(`the model was not told the time: ${told}`);
console.log(text);
