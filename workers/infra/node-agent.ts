/**
 * The node's agent: it serves the web process's direct requests to a VM's node (the client is src/drivers/node.ts). It
 * listens on a socket in the run folder, for callers with the token derived from the sealing key.
 */
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import type { Compute, Machine } from '#src/drivers/compute/machine.ts'
import { guestCommandOf } from '#src/drivers/compute/guest/commands.ts'
import { runOnce } from '#src/drivers/compute/guest/once.ts'
import {
  listFolder,
  makeFolder,
  readFile,
  removePath,
  renamePath,
  writeFile,
} from '#src/drivers/compute/guest/files.ts'
import {
  followBackground,
  forgetOutput,
  killBackground,
  readBackground,
  startBackground,
} from '#src/drivers/compute/guest/processes.ts'
import { readKernelLog } from '#src/drivers/compute/guest/kernel-log.ts'
import { readPorts } from '#src/drivers/compute/guest/ports.ts'
import { removeSession, writeSession } from '#src/drivers/compute/guest/session.ts'
import { openSsh } from '#src/drivers/compute/guest/ssh-server.ts'
import { closeTerminal, openTerminal } from '#src/drivers/compute/guest/terminals.ts'
import { readUsage } from '#src/drivers/compute/guest/usage.ts'
import type { FollowRefusal, NodeOperations, OutputChunk } from '#src/drivers/node.ts'
import { atPrivateSocket } from '#src/drivers/private-sockets.ts'
import { BerthError, publicError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import { sameDigest, sha256 } from '#src/platform/secrets.ts'
import type { Background } from '#src/platform/services.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vms/access.ts'
import type { GuestEnv } from './guest-env.ts'
import { serveFiles, vmOfTransfer } from './node-files.ts'
import { serveTunnels } from './node-tunnels.ts'
import { machineId } from './machine-specs.ts'
import type { VmUse } from './vms/use.ts'

const bodyBytesMax = 2 * 1024 * 1024
/** How long a stopping worker lets requests finish. */
const finishLimitMs = 1_500

/** What the agent needs. */
export type NodeAgentParts = { services: Background; compute: Compute; env: GuestEnv; use: VmUse; socketPath: string }

/** The running agent. */
export type NodeAgent = {
  /** Lets short requests finish and cuts off the others: their callers retry at the next worker, with the same id. */
  close(): Promise<void>
}

/** The request of an operation: a retry has the same id. `delivered` calls back when the answer was sent. */
type Asked = { requestId: string; delivered: (then: () => void) => void }

/** The node's implementations of the operations. */
type Operations = {
  [Name in keyof NodeOperations]: (
    input: Parameters<NodeOperations[Name]>[0],
    asked: Asked,
  ) => ReturnType<NodeOperations[Name]>
}

/** Starts the node's agent. */
export async function openNodeAgent(parts: NodeAgentParts): Promise<NodeAgent> {
  // While closing it still answers requests on existing connections: a caller would take a 503 for the final answer.
  const app = fastify({ bodyLimit: bodyBytesMax, return503OnClosing: false })
  const expected = sha256(parts.services.sealer.derive(nodeTokenPurpose))
  const checkToken = (authorization: string | undefined): void => {
    const token = /^Bearer (\S+)$/.exec(authorization ?? '')?.[1] ?? ''
    if (!sameDigest(sha256(token), expected))
      throw new BerthError('unauthorized', 'The node does not know this caller.')
  }
  app.addHook('onRequest', async (request) => checkToken(request.headers.authorization))
  app.addHook('preHandler', async (request, { raw }) => noteUse(parts.use, request, raw))
  const tunnels = serveTunnels(app.server, {
    checkToken,
    use: parts.use,
    findMachine: (vmId) => findMachine(parts.compute, vmId),
  })
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof BerthError)) log.error({ err: error }, 'the node failed at a request')
    const shown = publicError(error)
    const { retryAfterSeconds } = shown.details
    return reply.code(shown.status).send({ code: shown.code, message: shown.message, retryAfterSeconds })
  })
  for (const [name, operation] of Object.entries(operationsOf(parts))) {
    app.post(`/${name}`, (request, reply) => {
      const { requestId } = request.body as { requestId: string } // as the client sends it
      const delivered = (then: () => void): void => void reply.raw.once('finish', then)
      return (operation as (input: unknown, asked: Asked) => Promise<unknown>)(request.body, { requestId, delivered }) // the client sends what NodeOperations says
    })
  }
  const followers = new Set<AbortController>()
  app.post('/followProcess', async (request, reply) => {
    const input = request.body as { vmId: string; processId: string; stdoutOffset: number; stderrOffset: number } // as the client sends it
    const left = new AbortController()
    followers.add(left)
    reply.raw.once('close', () => {
      left.abort()
      followers.delete(left)
    })
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders()
    await pour(parts.compute, input, reply.raw, left)
  })
  await serveFiles(app, (vmId) => findMachine(parts.compute, vmId))
  await atPrivateSocket(parts.socketPath, () => app.listen({ path: parts.socketPath }))
  return {
    async close() {
      for (const left of followers) left.abort()
      tunnels.close()
      parts.use.end()
      const cut = setTimeout(() => app.server.closeAllConnections(), finishLimitMs)
      await app.close()
      clearTimeout(cut)
    },
  }
}

/** Operations that only look at a VM: one that somebody watches falls asleep all the same. */
const looks: ReadonlySet<string> = new Set(['/readUsage', '/readPorts'] satisfies `/${keyof NodeOperations}`[])

/** The VM of a request is in use until the request is over. @throws BerthError as VmUse */
async function noteUse(use: VmUse, request: FastifyRequest, answer: FastifyReply['raw']): Promise<void> {
  if (looks.has(request.url)) return
  const vmId = vmOfTransfer(request) ?? (request.body as { vmId?: string } | null | undefined)?.vmId // as the client sends it
  if (vmId === undefined) return
  const end = await use.begin(vmId)
  if (answer.closed) end()
  else answer.once('close', end)
}

function operationsOf({ compute, env }: NodeAgentParts): Operations {
  const ready = async ({ vmId, envGeneration }: { vmId: string; envGeneration: number }): Promise<Machine> => {
    const machine = findMachine(compute, vmId)
    await env.push(vmId, machine, envGeneration)
    return machine
  }
  return {
    async exec(input, { requestId, delivered }) {
      const { taken, ...result } = await runOnce(await ready(input), requestId, guestCommandOf(input))
      delivered(taken)
      return result
    },
    startProcess: async (input, { requestId, delivered }) => {
      delivered(await startBackground(await ready(input), requestId, input.processId, guestCommandOf(input)))
      return { started: true }
    },
    readProcess: async ({ vmId, processId }) => readBackground(findMachine(compute, vmId), processId),
    killProcess: async ({ vmId, processId, signal }) => ({
      killed: await killBackground(findMachine(compute, vmId), processId, signal),
    }),
    forgetOutput: async ({ vmId, processIds }) => {
      await forgetOutput(findMachine(compute, vmId), processIds)
      return { forgotten: true }
    },
    readFile: async ({ vmId, path }) => readFile(findMachine(compute, vmId), path),
    writeFile: async ({ vmId, path, content }) => writeFile(findMachine(compute, vmId), path, content),
    listFolder: async ({ vmId, path }) => ({ entries: await listFolder(findMachine(compute, vmId), path) }),
    async removePath({ vmId, path, recursive }, { requestId, delivered }) {
      const { removed, taken } = await removePath(findMachine(compute, vmId), requestId, path, recursive)
      delivered(taken)
      return { removed }
    },
    async renamePath({ vmId, path, newPath }, { requestId, delivered }) {
      const { taken } = await renamePath(findMachine(compute, vmId), requestId, path, newPath)
      delivered(taken)
      return { renamed: true }
    },
    makeFolder: async ({ vmId, path }) => {
      await makeFolder(findMachine(compute, vmId), path)
      return { made: true }
    },
    writeSession: async ({ vmId, session }) => {
      await writeSession(findMachine(compute, vmId), session)
      return { written: true }
    },
    removeSession: async ({ vmId }) => ({ removed: await removeSession(findMachine(compute, vmId)) }),
    openTerminal: async (input) => {
      await openTerminal(await ready(input), input)
      return { opened: true }
    },
    closeTerminal: async ({ vmId, terminalId }) => ({
      closed: await closeTerminal(findMachine(compute, vmId), terminalId),
    }),
    openSsh: async (input) => ({ hostKey: await openSsh(await ready(input), input) }),
    readUsage: async ({ vmId, since }) => readUsage(findMachine(compute, vmId), since),
    readPorts: async ({ vmId }) => ({ ports: await readPorts(findMachine(compute, vmId)) }),
    readKernelLog: async ({ vmId }) => ({ text: await readKernelLog(findMachine(compute, vmId)) }),
    copyFolder: async ({ folderId, to }) => ({ copied: await compute.copyFolder(folderId, to) }),
    pushEnv: async (input) => ({
      pushed: await env.push(input.vmId, findMachine(compute, input.vmId), input.envGeneration),
    }),
  }
}

function findMachine(compute: Compute, vmId: string): Machine {
  const machine = compute.find(machineId({ id: vmId }))
  if (!machine) throw new BerthError('vm_unreachable', 'The VM does not answer right now. Try again in a few seconds.')
  return machine
}

type Followed = { vmId: string; processId: string; stdoutOffset: number; stderrOffset: number }

async function pour(
  compute: Compute,
  { vmId, processId, stdoutOffset, stderrOffset }: Followed,
  to: NodeJS.WritableStream & { destroyed?: boolean },
  left: AbortController,
): Promise<void> {
  const say = (line: OutputChunk | FollowRefusal): boolean => to.write(`${JSON.stringify(line)}\n`)
  try {
    for await (const chunk of followBackground(
      findMachine(compute, vmId),
      processId,
      { stdout: stdoutOffset, stderr: stderrOffset },
      left.signal,
    )) {
      if (left.signal.aborted) return
      if (!say(chunk))
        await new Promise<void>((go) => {
          to.once('drain', go)
          left.signal.addEventListener('abort', () => go(), { once: true })
        })
    }
  } catch (error) {
    const { code, message } = publicError(error)
    if (code === 'internal_error') log.warn({ err: error }, 'following a process broke off')
    say({ code, message, isPassing: code === 'vm_unreachable' && compute.find(machineId({ id: vmId })) !== undefined })
  } finally {
    to.end()
  }
}
