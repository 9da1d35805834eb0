/**
 * The node's end of file transfers: requests of the node's agent whose body, or whose answer, is a stream into or out of
 * a VM. The caller's end is src/drivers/node/files.ts.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Readable, Writable } from 'node:stream'
import { replaced } from '#src/drivers/compute/guest/file-refusals.ts'
import { ChangedWhileRead, openFile, takeUpload } from '#src/drivers/compute/guest/file-streams.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import {
  answerHeader,
  transfersPath,
  type FilePlace,
  type FileQuestion,
  type FileUpload,
} from '#src/drivers/node/file-transfers.ts'
import { BerthError, publicError } from '#src/platform/errors.ts'
import { fileLimits } from '#src/platform/limits/files.ts'
import { log } from '#src/platform/log.ts'

/** A running upload; `end` cuts it, and resolves when it is over. */
type Running = { end: () => Promise<void> }

/** Adds them to the agent. @param findMachine throws BerthError vm_unreachable. */
export async function serveFiles(app: FastifyInstance, findMachine: (vmId: string) => Machine): Promise<void> {
  const takeTurn = createTurns()
  const uploads = new Map<string, Running>()
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload)) // the guest reads the stream
    scope.get(transfersPath, async (request, reply) => {
      const question = requestOf<FileQuestion>(request)
      const release = takeTurn(question)
      const left = new AbortController()
      reply.raw.once('close', () => {
        left.abort()
        release()
      })
      const { answer, bytes } = await openFile(findMachine(question.vmId), question, left.signal)
      reply.header(answerHeader, JSON.stringify(answer))
      if (bytes === null) return reply.send()
      reply.hijack()
      reply.raw.writeHead(200, { [answerHeader]: JSON.stringify(answer), 'content-type': 'application/octet-stream' })
      reply.raw.flushHeaders()
      return sendBytes(bytes, reply)
    })
    scope.put(transfersPath, async (request, reply) => {
      const upload = requestOf<FileUpload>(request)
      const body = (request.body ?? request.raw) as Readable // what the parser above made
      return replacing(uploads, upload, reply, async (signal) => {
        const release = takeTurn(upload)
        try {
          return await takeUpload(findMachine(upload.vmId), upload, body, signal)
        } finally {
          release()
        }
      })
    })
  })
}

/** Of two uploads to one path the later goes on: often its client has lost the connection of the earlier. */
async function replacing<Result>(
  uploads: Map<string, Running>,
  { vmId, format, path }: FilePlace,
  reply: FastifyReply,
  take: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const key = JSON.stringify([vmId, format, path])
  const over = Promise.withResolvers<void>()
  const left = new AbortController()
  let isReplaced = false
  const running: Running = {
    end() {
      isReplaced = true
      left.abort()
      return over.promise
    },
  }
  const before = uploads.get(key)
  uploads.set(key, running)
  reply.raw.once('close', () => left.abort())
  try {
    await before?.end()
    return await take(left.signal)
  } catch (error) {
    reply.raw.shouldKeepAlive = true // closed while the body still comes, the connection would take the answer with it
    throw isReplaced ? replaced() : error
  } finally {
    if (uploads.get(key) === running) uploads.delete(key)
    over.resolve()
  }
}

/** Passes the bytes on. A break that the caller shall not try to mend is an answer that ends properly, but too early. */
async function sendBytes(bytes: AsyncGenerator<Buffer>, { raw }: FastifyReply): Promise<void> {
  const to: Writable = raw
  try {
    for await (const piece of bytes) {
      if (to.destroyed) return
      if (!to.write(piece)) await drained(to)
    }
    to.end()
  } catch (error) {
    if (error instanceof ChangedWhileRead) return void to.end()
    const { code } = publicError(error)
    if (code === 'internal_error' && !to.destroyed) log.warn({ err: error }, 'sending a file broke off')
    to.destroy()
  }
}

/** Resolves when it takes more, or is gone. */
function drained(to: Writable): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      to.off('drain', settle).off('close', settle)
      resolve()
    }
    to.on('drain', settle).on('close', settle)
  })
}

/**
 * Counts transfers: `takeTurn` throws when a VM, an organization or the node has too many, else returns how one ends. The
 * node's last ones are for organizations that have few, so that a few busy ones leave room for all others.
 */
function createTurns(): (place: FilePlace) => () => void {
  const counts = new Map<string, number>()
  return ({ vmId, organizationId }) => {
    const bounds = [
      { key: vmId, most: fileLimits.streamsPerVm, error: tooMany('This VM', fileLimits.streamsPerVm) },
      {
        key: organizationId,
        most: fileLimits.streamsPerOrganization,
        error: tooMany('Your organization', fileLimits.streamsPerOrganization),
      },
      { key: '', most: fileLimits.streamsPerNode, error: nodeFull() },
    ]
    for (const { key, most, error } of bounds) if ((counts.get(key) ?? 0) >= most) throw error
    const { streamsPerNode, streamsForMany, streamsWhenBusy } = fileLimits
    const isBusy = (counts.get('') ?? 0) >= streamsPerNode - streamsForMany
    if (isBusy && (counts.get(organizationId) ?? 0) >= streamsWhenBusy) throw nodeFull()
    for (const { key } of bounds) counts.set(key, (counts.get(key) ?? 0) + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      for (const { key } of bounds) {
        const left = (counts.get(key) ?? 1) - 1
        if (left > 0) counts.set(key, left)
        else counts.delete(key)
      }
    }
  }
}

function tooMany(whose: string, most: number): BerthError {
  return new BerthError('rate_limited', `${whose} has ${most} transfers of files in progress. Wait for one to end.`, {
    retryAfterSeconds: 5,
  })
}

function nodeFull(): BerthError {
  return new BerthError(
    'capacity_unavailable',
    'The VM’s node has too many transfers of files in progress. Try again in a few seconds.',
    { retryAfterSeconds: 5 },
  )
}

/** The VM that a transfer is for; undefined for any other request of the agent. */
export function vmOfTransfer(request: FastifyRequest): string | undefined {
  return request.routeOptions.url === transfersPath ? requestOf<FilePlace>(request).vmId : undefined
}

function requestOf<Request>(request: FastifyRequest): Request {
  const { request: text } = request.query as { request: string } // as the client sends it
  return JSON.parse(text) as Request
}
