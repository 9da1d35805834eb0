/**
 * The client of a node's worker, which alone has connections to its VMs: HTTP on the node's own socket, one POST for
 * each operation, JSON both ways. The worker's side is workers/infra/node-agent.ts.
 */
import type { Duplex, Readable } from 'node:stream'
import { Agent, request, type Dispatcher } from 'undici'
import { BerthError, type ErrorCode } from '#src/platform/errors.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import type { FileAnswer, FileQuestion, FileUpload, UploadResult } from './node/file-transfers.ts'
import { openFile, sendFile } from './node/files.ts'
import type { ListeningPort, ProcessorTicks, VmUsage } from './node/looks.ts'
import { Away, createWaiting, refusalOf } from './node/retries.ts'
import type { TerminalSize } from './node/terminal-frames.ts'
import { openTunnel, type TunnelEnd } from './node/tunnels.ts'

/**
 * A command in a VM: with `args`, `command` is a program; without, it is text for bash. `env` are variables besides those
 * of the VM; as `user` unless `user` says root.
 */
export type ExecRequest = {
  vmId: string
  envGeneration: number
  command: string
  args: readonly string[] | null
  workingDir: string | null
  timeoutMs: number
  stdin: string | null
  env?: Readonly<Record<string, string>>
  user?: GuestUser
}
/** Who runs a command in a VM. */
export type GuestUser = 'user' | 'root'
/** What a command printed (the last MiB of each stream) and how it ended. */
export type ExecResult = { stdout: string; stderr: string; exitCode: number; timedOut: boolean; durationMs: number }
/** A terminal to open; `command` is text for bash, and null a login shell. */
export type OpenTerminalRequest = TerminalSize & {
  vmId: string
  envGeneration: number
  terminalId: string
  command: string | null
}
/** A background process as its guest knows it; offsets count bytes since its start. */
export type ProcessReport = {
  status: 'running' | 'exited' | 'killed'
  exitCode: number | null
  stdout: string
  stderr: string
  stdoutOffset: number
  stderrOffset: number
}
/** An entry of a folder in a VM. */
export type FileEntry = {
  name: string
  type: 'file' | 'directory' | 'symlink' | 'other'
  sizeBytes: number
  modifiedAt: string
}
/** A piece of a process's output with its offset in the whole output; the last one has `ended`. Unit: bytes. */
export type OutputChunk =
  | { stream: 'stdout' | 'stderr'; offset: number; sizeBytes: number; text: string }
  | { ended: true; exitCode: number | null; status: 'exited' | 'killed' }

/** Why following a process failed; `isPassing` if the machine is reachable and a retry may help. */
export type FollowRefusal = { code: ErrorCode; message: string; isPassing: boolean }

/**
 * The operations of a node. A request that was cut off by a worker's death is sent again with the same id, so each of
 * them is idempotent: `exec`, `removePath` and `renamePath` by that id, the others by nature.
 */
export type NodeOperations = {
  exec(input: ExecRequest): Promise<ExecResult>
  startProcess(input: ExecRequest & { processId: string }): Promise<{ started: true }>
  readProcess(input: { vmId: string; processId: string }): Promise<ProcessReport>
  killProcess(input: { vmId: string; processId: string; signal: 'TERM' | 'KILL' | 'INT' }): Promise<{ killed: boolean }>
  /** Deletes the output of ended processes. Their records stay, so starting one again has no effect. */
  forgetOutput(input: { vmId: string; processIds: readonly string[] }): Promise<{ forgotten: true }>
  readFile(input: { vmId: string; path: string }): Promise<{ content: string; sizeBytes: number }>
  writeFile(input: { vmId: string; path: string; content: string }): Promise<{ sizeBytes: number }>
  listFolder(input: { vmId: string; path: string }): Promise<{ entries: FileEntry[] }>
  removePath(input: { vmId: string; path: string; recursive: boolean }): Promise<{ removed: boolean }>
  renamePath(input: { vmId: string; path: string; newPath: string }): Promise<{ renamed: true }>
  makeFolder(input: { vmId: string; path: string }): Promise<{ made: true }>
  writeSession(input: { vmId: string; session: string }): Promise<{ written: true }>
  removeSession(input: { vmId: string }): Promise<{ removed: boolean }>
  pushEnv(input: { vmId: string; envGeneration: number }): Promise<{ pushed: boolean }>
  /** Opens a terminal; `command` null is a login shell. */
  openTerminal(input: OpenTerminalRequest): Promise<{ opened: true }>
  /** Ends a terminal; `closed` is false when there was none. */
  closeTerminal(input: { vmId: string; terminalId: string }): Promise<{ closed: boolean }>
  /** Starts the SSH server of `user`, and lets this public key in. @returns the server's host key, as a line of known_hosts has it. */
  openSsh(input: { vmId: string; envGeneration: number; publicKey: string }): Promise<{ hostKey: string }>
  /** What a VM uses; `since` is from the reading before. */
  readUsage(input: { vmId: string; since: ProcessorTicks | null }): Promise<VmUsage>
  readPorts(input: { vmId: string }): Promise<{ ports: ListeningPort[] }>
  readKernelLog(input: { vmId: string }): Promise<{ text: string }>
  /** Makes a consistent copy of a folder's disk in a file of this host; does nothing when there is no such disk. */
  copyFolder(input: { folderId: string; to: string }): Promise<{ copied: boolean }>
}

/** The result of an operation. */
export type NodeAnswer<Name extends keyof NodeOperations> = Awaited<ReturnType<NodeOperations[Name]>>

/** `silenceMs`: how long the node may be silent. `waits`: false for what nobody waits for, when a worker is away. */
export type CallOptions = { silenceMs: number; waits?: boolean }

/** Calls a node. While its worker restarts, calls wait for it, 5 s at most. */
export type NodeClient = {
  /**
   * @throws BerthError as the node threw it; vm_unreachable when the node does not answer; timeout after the silence.
   */
  call<Name extends keyof NodeOperations>(
    name: Name,
    input: Parameters<NodeOperations[Name]>[0],
    options: CallOptions,
  ): Promise<NodeAnswer<Name>>
  /**
   * Follows a process's output from these offsets until it ends or the signal fires, over connections that break.
   * @throws BerthError not_found; vm_unreachable when the node or the VM stays unreachable.
   */
  follow(
    input: { vmId: string; processId: string; stdoutOffset: number; stderrOffset: number },
    signal: AbortSignal,
  ): AsyncIterableIterator<OutputChunk>
  /**
   * A connection to the Postgres of a VM, to this port of a VM that no database runs in, or to a terminal; its bytes as they are. It may be
   * ended before the answer has come; it closes when the server ends it, and with the VM or the node's worker.
   * @throws BerthError vm_unreachable when the VM or its node does not answer, or the VM has no Postgres;
   * upstream_error when nothing listens at the port; not_found when the terminal has ended;
   * capacity_unavailable when the VM or the node has too many tunnels.
   */
  tunnel(input: TunnelEnd): Promise<Duplex>
  /** A file, or a folder as a tar archive, as a stream. @throws BerthError as openFile of node/files.ts. */
  openFile(question: FileQuestion): Promise<{ answer: FileAnswer; body: Readable | null }>
  /** Stores a stream as a file, or unpacks it into a folder. @throws BerthError as sendFile of node/files.ts. */
  sendFile(upload: FileUpload, body: Readable): Promise<UploadResult>
}

const answerBytesMax = 16 * 1024 * 1024
const lineBytesMax = 1024 * 1024
const connectionsPerNode = 64
const agents = new Map<string, { agent: Dispatcher; origin: string }>()

/** A client for the node at this address: `unix:/path` or `http://host:port`. The token proves that we know the sealing key. */
export function nodeClient(agentUrl: string, token: string): NodeClient {
  const { agent, origin } = agentOf(agentUrl)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

  async function post(
    path: string,
    body: string,
    options: { silenceMs: number; signal?: AbortSignal },
  ): Promise<Dispatcher.ResponseData> {
    const response = await request(`${origin}${path}`, {
      method: 'POST',
      dispatcher: agent,
      headers,
      body,
      headersTimeout: options.silenceMs,
      bodyTimeout: options.silenceMs,
      ...(options.signal ? { signal: options.signal } : {}),
    })
    if (response.statusCode !== 200) throw refusalOf(await response.body.text())
    return response
  }

  return {
    async call<Name extends keyof NodeOperations>(
      name: Name,
      input: Parameters<NodeOperations[Name]>[0],
      { silenceMs, waits = true }: CallOptions,
    ): Promise<NodeAnswer<Name>> {
      const body = JSON.stringify({ ...input, requestId: newUuid() })
      const waiting = createWaiting(undefined, waits ? limits.nodeWaitSeconds : 0)
      for (;;) {
        try {
          const text = await (await post(`/${name}`, body, { silenceMs })).body.text()
          if (text.length > answerBytesMax) throw new Error(`the node answered ${name} with more than allowed`)
          return JSON.parse(text) as NodeAnswer<Name> // the worker implements NodeOperations
        } catch (error) {
          await waiting.after(error)
        }
      }
    },
    async *follow(input, signal) {
      const waiting = createWaiting(signal)
      const next: typeof input = { ...input }
      while (!signal.aborted) {
        try {
          const { body } = await post('/followProcess', JSON.stringify(next), { silenceMs: 0, signal })
          for await (const chunk of linesOf(body)) {
            waiting.reached()
            if ('code' in chunk) throw chunk.isPassing ? new Away() : new BerthError(chunk.code, chunk.message)
            if (!('ended' in chunk)) next[`${chunk.stream}Offset`] = chunk.offset + chunk.sizeBytes
            yield chunk
            if ('ended' in chunk) return
          }
          throw new Away() // the worker ended before the process did
        } catch (error) {
          if (signal.aborted) return
          await waiting.after(error)
        }
      }
    },
    tunnel: (end) => openTunnel(agentUrl, token, end),
    openFile: (question) => openFile({ agentUrl, token }, question),
    sendFile: (upload, body) => sendFile({ agentUrl, token }, upload, body),
  }
}

/** The node's answer about a followed process, line by line; a refusal is the last line. */
async function* linesOf(body: Dispatcher.ResponseData['body']): AsyncIterableIterator<OutputChunk | FollowRefusal> {
  let held: string[] = []
  let heldLength = 0
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
    if (heldLength > lineBytesMax) throw new Error('the node sent a line that is too long')
    for (const line of lines) if (line !== '') yield JSON.parse(line) as OutputChunk | FollowRefusal // written by the worker
  }
}

function agentOf(agentUrl: string): { agent: Dispatcher; origin: string } {
  const known = agents.get(agentUrl)
  if (known) return known
  const made = agentUrl.startsWith('unix:')
    ? {
        agent: new Agent({ connect: { socketPath: agentUrl.slice('unix:'.length) }, connections: connectionsPerNode }),
        origin: 'http://node',
      }
    : { agent: new Agent({ connections: connectionsPerNode }), origin: agentUrl }
  agents.set(agentUrl, made)
  return made
}
