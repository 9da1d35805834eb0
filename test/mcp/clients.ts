/** The clients that people use Berth's tools with, each as its own library or program has it. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createMCPClient } from '@ai-sdk/mcp'
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { MCPServerStdio, MCPServerStreamableHttp } from '@openai/agents'
import { environmentWith } from '#src/platform/config.ts'
import type { Berth } from '../support/berth.ts'

/** One that is connected. */
export type TriedClient = {
  names: () => Promise<string[]>
  /** Calls a tool. @returns what it says, and whether the client takes it for a failure */
  call: (name: string, args: Record<string, unknown>) => Promise<{ isError: boolean; text: string }>
  close: () => Promise<unknown>
}

type Place = { berth: Pick<Berth, 'url'>; credential: string }
type Content = { type: string; text?: string }[]

const root = join(import.meta.dirname, '../..')
/** The inspector's command line, as `npx @modelcontextprotocol/inspector` starts it. */
const inspector = join(root, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js')
const commandLine = join(root, 'cli/main.ts')
const runLimitMs = 60_000

const addressOf = ({ url }: Place['berth']): string => `${url}/mcp`
const headersOf = (credential: string): Record<string, string> => ({ Authorization: `Bearer ${credential}` })
const textOf = (content: unknown): string => (content as Content).map(({ text }) => text ?? '').join('')

/** By name. */
export const triedClients: Record<string, (place: Place) => Promise<TriedClient>> = {
  'the AI SDK': withAiSdk,
  'OpenAI’s Agents SDK': withOpenAiAgents,
  LangChain: withLangChain,
  'the inspector’s command line': async ({ berth, credential }) =>
    withInspector([addressOf(berth), '--transport', 'http', '--header', `Authorization: Bearer ${credential}`]),
  'OpenAI’s Agents SDK that starts berth mcp': withOpenAiAgentsByProgram,
  'the inspector’s command line that starts berth mcp': async ({ berth, credential }) =>
    withInspector([
      ...['-e', `BERTH_URL=${berth.url}`, '-e', `BERTH_TOKEN=${credential}`],
      ...[process.execPath, commandLine, 'mcp'],
    ]),
}

async function withAiSdk({ berth, credential }: Place): Promise<TriedClient> {
  const client = await createMCPClient({
    transport: { type: 'http', url: addressOf(berth), headers: headersOf(credential) },
  })
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, args) {
      const { isError, content } = await client.callTool({ name, arguments: args })
      return { isError: isError === true, text: textOf(content) }
    },
    close: () => client.close(),
  }
}

async function withOpenAiAgents({ berth, credential }: Place): Promise<TriedClient> {
  return asAgentsSdk(
    new MCPServerStreamableHttp({ url: addressOf(berth), requestInit: { headers: headersOf(credential) } }),
  )
}

async function withOpenAiAgentsByProgram({ berth, credential }: Place): Promise<TriedClient> {
  return asAgentsSdk(
    new MCPServerStdio({
      command: process.execPath,
      args: [commandLine, 'mcp'],
      env: { BERTH_URL: berth.url, BERTH_TOKEN: credential, NODE_NO_WARNINGS: '1', PATH: '/usr/bin:/bin' },
    }),
  )
}

async function asAgentsSdk(server: MCPServerStreamableHttp | MCPServerStdio): Promise<TriedClient> {
  await server.connect()
  return {
    names: async () => (await server.listTools()).map(({ name }) => name),
    async call(name, args) {
      const { isError, content } = await server.callToolResult(name, args)
      return { isError: isError === true, text: textOf(content) }
    },
    close: () => server.close(),
  }
}

async function withLangChain({ berth, credential }: Place): Promise<TriedClient> {
  const client = new MultiServerMCPClient({
    mcpServers: { berth: { transport: 'http', url: addressOf(berth), headers: headersOf(credential) } },
  })
  const tools = await client.getTools()
  return {
    names: async () => tools.map(({ name }) => name),
    async call(name, args) {
      try {
        const text: unknown = await tools.find((one) => one.name === name)?.invoke(args)
        return { isError: false, text: typeof text === 'string' ? text : textOf(text) }
      } catch (error) {
        return { isError: true, text: (error as Error).message } // LangChain throws what a tool refuses
      }
    },
    close: () => client.close(),
  }
}

/** Each call is a process of its own. */
function withInspector(target: readonly string[]): TriedClient {
  const ask = async (method: string, words: readonly string[] = []): Promise<Record<string, unknown>> => {
    const { stdout, stderr } = await inspect([...target, '--method', method, ...words])
    if (!stdout.trim()) throw new Error(stderr)
    return JSON.parse(stdout) as Record<string, unknown>
  }
  return {
    names: async () => ((await ask('tools/list'))['tools'] as { name: string }[]).map(({ name }) => name),
    async call(name, args) {
      const given = Object.entries(args).flatMap(([key, value]) => [
        '--tool-arg',
        `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      ])
      const { isError, content } = await ask('tools/call', ['--tool-name', name, ...given])
      return { isError: isError === true, text: textOf(content) }
    },
    close: async () => undefined,
  }
}

/** Runs the inspector's command line, and answers what it printed and how it ended. */
export async function inspect(words: readonly string[]): Promise<{ stdout: string; stderr: string; code: number }> {
  const env = environmentWith({ NODE_NO_WARNINGS: '1' })
  const given = [inspector, '--cli', ...words, '--connect-timeout', String(runLimitMs)]
  const running = promisify(execFile)(process.execPath, given, { env, timeout: runLimitMs })
  return running.then(
    (printed) => ({ ...printed, code: 0 }),
    (failure: { stdout: string; stderr: string; code: number }) => failure,
  )
}
