import { type Context, collect, type Program } from '../command.ts';

export function addMcpCommand(program: Program, context: Context): void {
  program
    .command('mcp')
    .description(
      'a server for assistants on this machine (Model Context Protocol, over standard input and output)\n\n' +
        'An assistant starts it, and can then stamp and verify files and run workflows. Files are hashed here, and only hashes are sent. ' +
        'The server uses only files in the folders of --allow. Without --allow, it uses the folders that the assistant names as its roots. ' +
        'The settings of common assistants are in docs/agents/assistants.md.',
    )
    .option('--allow <FOLDER>', 'a folder that the assistant may use; may be repeated', collect)
    // The SDK takes longer to load than other commands to run.
    .action(async ({ allow = [] }) => (await import('../mcp-server.ts')).serveAssistant(allow, context));
}
