/** The catalog of built-in tools: how each is described to models, and what it needs. */
import { allow } from '#src/platform/access.ts'
import { peerLimits } from '#src/platform/limits/peers.ts'
import { memoryLimits } from '#src/platform/limits/memories.ts'
import type { Call } from '#src/platform/services.ts'

/** The toolsets of built-in tools. */
export const builtInToolsets = ['agent_toolset_20260401', 'berth_toolset_v1'] as const
export type BuiltInToolset = (typeof builtInToolsets)[number]

/** Whether a tool runs immediately or waits for the user's approval. */
export type PermissionPolicy = { type: 'always_allow' | 'always_ask' }

/** A built-in tool. `inputSchema` is JSON Schema; `requiresEnvironment`: it runs inside the session's VM. */
export type BuiltInTool = {
  name: string
  toolset: BuiltInToolset
  description: string
  inputSchema: Readonly<Record<string, unknown>>
  requiresEnvironment: boolean
  defaultPermissionPolicy: PermissionPolicy
}

type Properties = Readonly<Record<string, Readonly<Record<string, unknown>>>>

const text = (description: string): Record<string, unknown> => ({ type: 'string', description })
const count = (description: string): Record<string, unknown> => ({ type: 'integer', minimum: 0, description })

/** A tool whose call is allowed unless the agent says otherwise. */
function tool(
  toolset: BuiltInToolset,
  name: string,
  requiresEnvironment: boolean,
  description: string,
  properties: Properties,
  required: readonly string[],
): BuiltInTool {
  return {
    name,
    toolset,
    description,
    requiresEnvironment,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
    defaultPermissionPolicy: { type: 'always_allow' },
  }
}

const inVm = true
const outside = false
const standard = 'agent_toolset_20260401'
const ours = 'berth_toolset_v1'

/** Every built-in tool. The first eight have the inputs of Anthropic's toolset of that name, which clients know. */
export const builtInTools: readonly BuiltInTool[] = [
  tool(
    standard,
    'bash',
    inVm,
    'Runs a command in the shell of the session’s VM and returns its output and exit code.',
    {
      command: text('What to run. Leave it out only to restart.'),
      restart: { type: 'boolean', description: 'Starts the shell anew instead of running a command.' },
      timeout_ms: count('Milliseconds the command may take: 120000 unless given, 600000 at most.'),
    },
    [],
  ),
  tool(
    standard,
    'read',
    inVm,
    'Reads a file.',
    {
      file_path: text('The file.'),
      view_range: {
        type: 'array',
        items: { type: 'integer' },
        minItems: 2,
        maxItems: 2,
        description: 'First and last line, counted from 1; a last line of 0 means the end.',
      },
    },
    ['file_path'],
  ),
  tool(
    standard,
    'write',
    inVm,
    'Writes a whole file, replacing what was there.',
    { file_path: text('The file.'), content: text('All of its new content.') },
    ['file_path', 'content'],
  ),
  tool(
    standard,
    'edit',
    inVm,
    'Replaces a piece of a file, which must occur exactly once unless all are to be replaced.',
    {
      file_path: text('The file.'),
      old_string: text('What to replace.'),
      new_string: text('What to put in its place.'),
      replace_all: { type: 'boolean', description: 'Replaces every occurrence.' },
    },
    ['file_path', 'old_string', 'new_string'],
  ),
  tool(
    standard,
    'glob',
    inVm,
    'Lists files whose paths match a pattern, newest first.',
    { pattern: text('Such as src/**/*.ts.'), path: text('The folder to look in.') },
    ['pattern'],
  ),
  tool(
    standard,
    'grep',
    inVm,
    'Finds lines that match a regular expression.',
    { pattern: text('The regular expression.'), path: text('The file or folder to look in.') },
    ['pattern'],
  ),
  tool(standard, 'web_fetch', outside, 'Reads a page of the web as text.', { url: text('Its address.') }, ['url']),
  tool(
    standard,
    'web_search',
    outside,
    'Searches the web, if the operator has set up a search engine.',
    { query: text('What to look for.') },
    ['query'],
  ),
  tool(
    ours,
    'ask_user',
    outside,
    'Asks the user a question and waits for the answer.',
    {
      question: text('The question.'),
      options: { type: 'array', items: { type: 'string' }, maxItems: 10, description: 'Answers to choose from.' },
    },
    ['question'],
  ),
  tool(
    ours,
    'remember',
    outside,
    'Keeps something for later sessions of the same user: one thing in a sentence or two, that can be understood without this conversation. No passwords or keys.',
    {
      body: text(`What to keep: 1 to ${memoryLimits.bodyLength.toLocaleString('en-US')} characters.`),
      category: {
        type: 'string',
        enum: ['preference', 'fact', 'instruction', 'project', 'other'],
        description: 'What kind of thing it is.',
      },
    },
    ['body'],
  ),
  tool(
    ours,
    'recall',
    outside,
    'Looks through what was kept in earlier sessions, by the user, and by their organization. Use it before you ask for what you could have been told already.',
    { query: text('Words to look for; empty for what is newest.') },
    ['query'],
  ),
  tool(
    ours,
    'ask_peer',
    outside,
    'Asks another agent of the same user and waits for its answer, which may take long. It knows nothing of this conversation: put everything it needs into the request.',
    {
      session_id: text(
        'The id of the session to ask, or of an agent, which gets a new session. Never guess one: with “?” you get the ids of those that you can ask.',
      ),
      text: {
        ...text(`The request: 1 to ${peerLimits.textLength.toLocaleString('en-US')} characters.`),
        minLength: 1,
        maxLength: peerLimits.textLength,
      },
      path: {
        ...text(
          `A file of your VM to send along, of at most ${peerLimits.attachmentBytes / 1024 / 1024} MiB; a relative path begins in /home/user.`,
        ),
        minLength: 1,
        maxLength: peerLimits.pathLength,
      },
    },
    ['session_id', 'text'],
  ),
  tool(
    ours,
    'deploy',
    inVm,
    'Publishes a port of the VM under an address of its own, which everybody on the internet may open, while the VM runs. Start the server first.',
    {
      service_name: text(
        'A name for it, which the address begins with: lower-case letters, digits and hyphens, with a letter first.',
      ),
      port: { type: 'integer', minimum: 1, maximum: 65_535, description: 'The port it listens on.' },
    },
    ['service_name', 'port'],
  ),
]

const byName = new Map(builtInTools.map((one) => [one.name, one]))

/** The built-in tool of this name. */
export function findBuiltInTool(name: string): BuiltInTool | undefined {
  return byName.get(name)
}

/** Every built-in tool that agents may have. */
export function listBuiltInTools(call: Call): readonly BuiltInTool[] {
  allow(call.caller, 'agent-tools:read')
  return builtInTools
}
