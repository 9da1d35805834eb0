/**
 * The node's own door: what the web process asks of a VM's node at once (src/drivers/node.ts is the other side).
 * It listens on a socket in the run folder, for callers that know the token derived from the sealing key.
 */
import { chmodSync, rmSync } from 'node:fs'
import fastify, { type FastifyInstance } from 'fastify'
import type { Compute, Machine } from '#src/drivers/compute/machine.ts'
import { execInGuest } from '#src/drivers/compute/guest-exec.ts'
import { listFolder, readFile, removePath, writeFile } from '#src/drivers/compute/guest-files.ts'
import { followBackground, forgetOutput, killBackground, readBackground, startBackground } from '#src/drivers/compute/guest-processes.ts'
import { removeSession, writeSession } from '#src/drivers/compute/guest-session.ts'
import type { ExecRequest, NodeOperations, OutputChunk } from '#src/drivers/node.ts'
import { BerthError, publicError } from '#src/platform/errors.ts'
import { log } from '#src/platform/log.ts'
import { sameDigest, sha256 } from '#src/platform/secrets.ts'
import type { Background } from '#src/platform/services.ts'
import { nodeTokenPurpose } from '#src/resources/infra/vm-access.ts'
import type { GuestEnv } from './guest-env.ts'
import { machineId } from './vms.ts'

const bodyBytesMax = 2 * 1024 * 1024

/** What the door needs. */
export type NodeAgentParts = { services: Background; compute: Compute; env: GuestEnv; socketPath: string }

/** Opens the node's door. */
export async function openNodeAgent(parts: NodeAgentParts): Promise<FastifyInstance> {
  const app = fastify({ bodyLimit: bodyBytesMax })
  const expected = sha256(parts.services.sealer.derive(nodeTokenPurpose))
  app.addHook('onRequest', async (request) => {
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    if (!sameDigest(sha256(token), expected)) throw new BerthError('unauthorized', 'The node does not know this caller.')
  })
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof BerthError)) log.error({ err: error }, 'the node failed at a request')
    const shown = publicError(error)
    return reply.code(shown.status).send({ code: shown.code, message: shown.message })
  })
  const operations = operationsOf(parts)
  for (const [name, operation] of Object.entries(operations)) {
    app.post(`/${name}`, (request) => (operation as (input: unknown) => Promise<unknown>)(request.body)) // the client sends what NodeOperations says
  }
  app.post('/followProcess', async (request, reply) => {
    const input = request.body as { vmId: string; processId: string; stdoutOffset: number; stderrOffset: number } // as the client sends it
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders()
    await pour(followBackground(findMachine(parts.compute, input.vmId), input.processId, { stdout: input.stdoutOffset, stderr: input.stderrOffset }, left.signal), reply.raw, left)
  })
  rmSync(parts.socketPath, { force: true })
  await app.listen({ path: parts.socketPath })
  chmodSync(parts.socketPath, 0o600)
  return app
}

function operationsOf({ compute, env }: NodeAgentParts): NodeOperations {
  const ready = async ({ vmId, envGeneration }: { vmId: string; envGeneration: number }): Promise<Machine> => {
    const machine = findMachine(compute, vmId)
    await env.push(vmId, machine, envGeneration)
    return machine
  }
  return {
    exec: async (input) => execInGuest(await ready(input), commandOf(input)),
    startProcess: async (input) => {
      await startBackground(await ready(input), input.processId, commandOf(input))
      return { started: true }
    },
    readProcess: async ({ vmId, processId }) => readBackground(findMachine(compute, vmId), processId),
    killProcess: async ({ vmId, processId, signal }) => ({ killed: await killBackground(findMachine(compute, vmId), processId, signal) }),
    forgetOutput: async ({ vmId, processIds }) => {
      await forgetOutput(findMachine(compute, vmId), processIds)
      return { forgotten: true }
    },
    readFile: async ({ vmId, path }) => readFile(findMachine(compute, vmId), path),
    writeFile: async ({ vmId, path, content }) => writeFile(findMachine(compute, vmId), path, content),
    listFolder: async ({ vmId, path }) => ({ entries: await listFolder(findMachine(compute, vmId), path) }),
    removePath: async ({ vmId, path, recursive }) => ({ removed: await removePath(findMachine(compute, vmId), path, recursive) }),
    writeSession: async ({ vmId, session }) => {
      await writeSession(findMachine(compute, vmId), session)
      return { written: true }
    },
    removeSession: async ({ vmId }) => ({ removed: await removeSession(findMachine(compute, vmId)) }),
    copyFolder: async ({ folderId, to }) => ({ copied: await compute.copyFolder(folderId, to) }),
    pushEnv: async (input) => ({ pushed: await env.push(input.vmId, findMachine(compute, input.vmId), input.envGeneration) }),
  }
}

function commandOf({ command, args, workingDir, timeoutMs, stdin }: ExecRequest): { argv: string[]; workingDir: string | null; timeoutMs: number; stdin: string | null } {
  return { argv: args ? [command, ...args] : ['/bin/bash', '-lc', command], workingDir, timeoutMs, stdin }
}

function findMachine(compute: Compute, vmId: string): Machine {
  const machine = compute.find(machineId({ id: vmId }))
  if (!machine) throw new BerthError('vm_unreachable', 'The VM does not answer right now. Try again in a few seconds.')
  return machine
}

async function pour(chunks: AsyncIterable<OutputChunk>, to: NodeJS.WritableStream & { destroyed?: boolean }, left: AbortController): Promise<void> {
  try {
    for await (const chunk of chunks) {
      if (left.signal.aborted) return
      if (!to.write(`${JSON.stringify(chunk)}\n`)) await new Promise<void>((go) => { to.once('drain', go); left.signal.addEventListener('abort', () => go(), { once: true }) })
    }
  } catch (error) {
    log.warn({ err: error }, 'following a process broke off')
  } finally {
    to.end()
  }
}
