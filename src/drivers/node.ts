/**
 * How the other processes reach a node's worker, which alone holds the connections into its VMs: HTTP on the node's
 * own socket, one POST for each operation, JSON both ways. The worker's side is workers/infra/node-agent.ts.
 */
import { Agent, request, type Dispatcher } from 'undici'
import { BerthError, errorStatuses, type ErrorCode } from '#src/platform/errors.ts'

/** A command in a VM: with `args`, `command` is a program; without, it is text for bash. */
export type ExecRequest = { vmId: string; envGeneration: number; command: string; args: readonly string[] | null; workingDir: string | null; timeoutMs: number; stdin: string | null }
/** What a command printed (the last MiB of each stream) and how it ended. */
export type ExecResult = { stdout: string; stderr: string; exitCode: number; timedOut: boolean; durationMs: number }
/** A background process as its guest knows it; offsets count bytes since its start. */
export type ProcessReport = { status: 'running' | 'exited' | 'killed'; exitCode: number | null; stdout: string; stderr: string; stdoutOffset: number; stderrOffset: number }
/** An entry of a folder in a VM. */
export type FileEntry = { name: string; type: 'file' | 'directory' | 'symlink' | 'other'; sizeBytes: number; modifiedAt: string }
/** A piece of a process's output as it comes, and where it stands in all that was printed; the last one has `ended`. Unit: bytes. */
export type OutputChunk = { stream: 'stdout' | 'stderr'; offset: number; sizeBytes: number; text: string } | { ended: true; exitCode: number | null; status: 'exited' | 'killed' }

/** Everything a node does on request, and at once. */
export type NodeOperations = {
  exec(input: ExecRequest): Promise<ExecResult>
  startProcess(input: ExecRequest & { processId: string }): Promise<{ started: true }>
  readProcess(input: { vmId: string; processId: string }): Promise<ProcessReport>
  killProcess(input: { vmId: string; processId: string; signal: 'TERM' | 'KILL' | 'INT' }): Promise<{ killed: boolean }>
  /** Frees what ended processes printed. They stay known: starting one again starts nothing. */
  forgetOutput(input: { vmId: string; processIds: readonly string[] }): Promise<{ forgotten: true }>
  readFile(input: { vmId: string; path: string }): Promise<{ content: string; sizeBytes: number }>
  writeFile(input: { vmId: string; path: string; content: string }): Promise<{ sizeBytes: number }>
  listFolder(input: { vmId: string; path: string }): Promise<{ entries: FileEntry[] }>
  removePath(input: { vmId: string; path: string; recursive: boolean }): Promise<{ removed: boolean }>
  writeSession(input: { vmId: string; session: string }): Promise<{ written: true }>
  removeSession(input: { vmId: string }): Promise<{ removed: boolean }>
  pushEnv(input: { vmId: string; envGeneration: number }): Promise<{ pushed: boolean }>
  /** Copies a folder's disk as it is at one moment to a file of this host; nothing when there is no such disk. */
  copyFolder(input: { folderId: string; to: string }): Promise<{ copied: boolean }>
}

/** What an operation answers. */
export type NodeAnswer<Name extends keyof NodeOperations> = Awaited<ReturnType<NodeOperations[Name]>>

/** Calls a node. */
export type NodeClient = {
  /**
   * @param silenceMs how long the node may say nothing.
   * @throws BerthError as the node threw it; vm_unreachable when the node does not answer; timeout after the silence.
   */
  call<Name extends keyof NodeOperations>(name: Name, input: Parameters<NodeOperations[Name]>[0], options: { silenceMs: number }): Promise<NodeAnswer<Name>>
  /** Follows a process's output from these offsets until it ends or the signal fires. */
  follow(input: { vmId: string; processId: string; stdoutOffset: number; stderrOffset: number }, signal: AbortSignal): AsyncIterableIterator<OutputChunk>
}

const answerBytesMax = 16 * 1024 * 1024
const lineBytesMax = 1024 * 1024
const connectionsPerNode = 64
const agents = new Map<string, { agent: Dispatcher; origin: string }>()

/** A client for the node at this address: `unix:/path` or `http://host:port`. The token proves that we know the sealing key. */
export function nodeClient(agentUrl: string, token: string): NodeClient {
  const { agent, origin } = agentOf(agentUrl)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

  async function post(path: string, input: unknown, options: { silenceMs: number; signal?: AbortSignal }): Promise<Dispatcher.ResponseData> {
    try {
      const response = await request(`${origin}${path}`, { method: 'POST', dispatcher: agent, headers, body: JSON.stringify(input), headersTimeout: options.silenceMs, bodyTimeout: options.silenceMs, ...(options.signal ? { signal: options.signal } : {}) })
      if (response.statusCode !== 200) throw rebuilt(await response.body.text())
      return response
    } catch (error) {
      throw asBerthError(error)
    }
  }

  return {
    async call<Name extends keyof NodeOperations>(name: Name, input: Parameters<NodeOperations[Name]>[0], { silenceMs }: { silenceMs: number }): Promise<NodeAnswer<Name>> {
      const { body } = await post(`/${name}`, input, { silenceMs })
      const text = await body.text()
      if (text.length > answerBytesMax) throw new Error(`the node answered ${name} with more than it may`)
      return JSON.parse(text) as NodeAnswer<Name> // the worker implements NodeOperations
    },
    async *follow(input, signal) {
      const { body } = await post('/followProcess', input, { silenceMs: 0, signal })
      let held: string[] = []
      let heldLength = 0
      try {
        for await (const piece of body.setEncoding('utf8') as AsyncIterable<string>) {
          const lines = piece.split('\n')
          const rest = lines.pop() ?? ''
          if (lines.length > 0) {
            lines[0] = held.join('') + (lines[0] ?? '')
            held = []
            heldLength = 0
          }
          held.push(rest)
          heldLength += rest.length
          if (heldLength > lineBytesMax) throw new Error('the node sent a line longer than it may')
          for (const line of lines) if (line !== '') yield JSON.parse(line) as OutputChunk // written by the worker as OutputChunk
        }
      } catch (error) {
        if (signal.aborted) return
        throw asBerthError(error)
      }
    },
  }
}

function agentOf(agentUrl: string): { agent: Dispatcher; origin: string } {
  const known = agents.get(agentUrl)
  if (known) return known
  const made = agentUrl.startsWith('unix:')
    ? { agent: new Agent({ connect: { socketPath: agentUrl.slice('unix:'.length) }, connections: connectionsPerNode }), origin: 'http://node' }
    : { agent: new Agent({ connections: connectionsPerNode }), origin: agentUrl }
  agents.set(agentUrl, made)
  return made
}

/** The node's refusal as it threw it. */
function rebuilt(text: string): BerthError {
  const said = JSON.parse(text) as { code?: string; message?: string } // the worker's error body
  const code = said.code && said.code in errorStatuses ? (said.code as ErrorCode) : 'internal_error'
  return new BerthError(code, said.message ?? 'The node refused without a reason.')
}

function asBerthError(error: unknown): unknown {
  if (error instanceof BerthError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return new BerthError('timeout', 'The VM said nothing for longer than the command may take.')
  if (code.startsWith('UND_ERR') || ['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE'].includes(code)) return new BerthError('vm_unreachable', 'The VM’s node does not answer right now. Try again in a few seconds.', { retryAfterSeconds: 3 })
  return error
}
