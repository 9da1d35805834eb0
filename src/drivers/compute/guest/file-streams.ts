/** Files and folders of a guest as streams: read from any byte on, and written in parts that survive a broken connection. */
import type { Readable } from 'node:stream'
import type { Channel, Machine } from '#src/drivers/compute/machine.ts'
import { unreachable } from '#src/drivers/compute/ssh.ts'
import {
  choosePart,
  type FileAnswer,
  type FileFacts,
  type FilePlace,
  type FileQuestion,
  type FileUpload,
  type UploadResult,
} from '#src/drivers/node/file-transfers.ts'
import { BerthError } from '#src/platform/errors.ts'
import { fileLimits } from '#src/platform/limits/files.ts'
import { execInGuest } from './exec.ts'
import { refusal } from './file-refusals.ts'
import { codes, finishScript, progressScript, readFileScript, readFolderScript, receiveScript } from './file-scripts.ts'

const progressMs = 20_000
const headBytesMax = 200
const complaintBytesMax = 4096
/** What tar says of a file that became shorter while it was read: it fills up with zeros. */
const shrankText = 'padding with zeros'

/** What was asked for; `bytes` are null when only the answer was. They end too early when they are no longer what was promised. */
export type OpenedFile = { answer: FileAnswer; bytes: AsyncGenerator<Buffer> | null }

/** What was being read became something else: what has been sent is not the beginning of anything. */
export class ChangedWhileRead extends Error {}

/**
 * Opens a file, or a folder as a tar archive.
 * @param signal ends it.
 * @throws BerthError not_found when nothing is there, unless an upload to it is unfinished and only the answer is wanted;
 * invalid_request when it cannot be read; vm_unreachable; timeout when the guest does not say in time what is there.
 */
export async function openFile(machine: Machine, question: FileQuestion, signal: AbortSignal): Promise<OpenedFile> {
  const { path, format, headOnly, progressOnly } = question
  const uploadedBytes = headOnly ? await findProgress(machine, question) : null
  if (progressOnly) return { answer: nothingYet(uploadedBytes), bytes: null }
  const channel = await machine.run(
    {
      argv: script(format === 'tar' ? readFolderScript : readFileScript, 'read', path),
      timeoutMs: fileLimits.transferSeconds * 1000,
    },
    signal,
  )
  const complaint = complaintOf(channel)
  const pieces = (channel.stdout as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  channel.stdin.on('error', () => undefined) // its exit reports that
  try {
    const head = await inTime(readHead(pieces), channel)
    if (head === undefined) {
      const { exitCode } = await channel.exit
      if (exitCode === codes.absent && uploadedBytes !== null) return { answer: nothingYet(uploadedBytes), bytes: null }
      throw refusal(exitCode, question, complaint())
    }
    const facts = factsOf(head.line)
    const part = choosePart(facts, question)
    const answer = { facts, part, uploadedBytes }
    if (headOnly || part.lengthBytes === 0) {
      channel.stdin.end()
      channel.close()
      return { answer, bytes: null }
    }
    // One byte more than an archive is to have shows whether it has become longer.
    const isToEnd = format === 'tar' && part.startByte + part.lengthBytes === facts.sizeBytes
    channel.stdin.write(`${part.startByte} ${part.lengthBytes + (isToEnd ? 1 : 0)}\n`)
    return { answer, bytes: promisedBytes(channel, pieces, head.rest, part.lengthBytes, complaint) }
  } catch (error) {
    channel.close()
    throw error
  }
}

/** The last piece waits until the guest has said that all went well, so that nobody takes a broken file for a whole one. */
async function* promisedBytes(
  channel: Channel,
  pieces: AsyncIterator<Buffer>,
  first: Buffer,
  lengthBytes: number,
  complaint: () => string,
): AsyncGenerator<Buffer> {
  let gotBytes = 0
  let held: Buffer | undefined
  try {
    for (let piece = first; ; ) {
      gotBytes += piece.length
      if (gotBytes > lengthBytes) throw new ChangedWhileRead()
      if (gotBytes === lengthBytes && piece.length > 0) held = piece
      else if (piece.length > 0) yield piece
      const next = await pieces.next()
      if (next.done) break
      piece = next.value
    }
    const { exitCode } = await channel.exit
    if (exitCode !== 0 || gotBytes < lengthBytes || complaint().includes(shrankText)) throw new ChangedWhileRead()
    if (held) yield held
  } finally {
    channel.close()
  }
}

/**
 * Takes an upload, or a part of one. What arrives is kept when it breaks off; at the end it becomes the file at once, with
 * the mode of the one before it, or is unpacked into the folder.
 * @param signal ends it.
 * @throws BerthError invalid_request when the path cannot be written; invalid_transition when another upload took its
 * place; request_too_large when the disk is full; vm_unreachable; timeout.
 */
export async function takeUpload(
  machine: Machine,
  upload: FileUpload,
  body: Readable,
  signal: AbortSignal,
): Promise<UploadResult> {
  const { path, format, offset, totalBytes, isLast } = upload
  const keptMinutes = String(fileLimits.uploadKeptHours * 60)
  const argv = script(
    receiveScript,
    'receive',
    path,
    format,
    'yes',
    String(offset),
    totalBytes === null ? '' : String(totalBytes),
    keptMinutes,
  )
  const channel = await machine.run({ argv, timeoutMs: fileLimits.transferSeconds * 1000 }, signal)
  const complaint = complaintOf(channel)
  const printed = textOf(channel)
  const sent = pour(body, channel)
  const { exitCode } = await channel.exit.finally(() => sent.stop())
  const uploadedBytes = Number(printed())
  if (exitCode === codes.ahead) return { aheadOf: uploadedBytes }
  if (exitCode !== 0) throw refusal(exitCode, upload, complaint())
  if (!sent.isWhole() || uploadedBytes !== offset + sent.bytes()) throw unreachable()
  if (!isLast) return { uploadedBytes, isComplete: false }
  const finished = await execInGuest(
    machine,
    {
      argv: script(finishScript, 'finish', path, format, 'yes', String(uploadedBytes)),
      timeoutMs: fileLimits.finishSeconds * 1000,
    },
    signal,
  )
  if (finished.timedOut)
    throw new BerthError(
      'timeout',
      `The VM did not finish this within ${fileLimits.finishSeconds / 60} minutes. Send a smaller archive.`,
    )
  if (finished.exitCode !== 0) throw refusal(finished.exitCode, upload, finished.stderr)
  return { uploadedBytes, isComplete: true }
}

type Pouring = { stop: () => void; bytes: () => number; isWhole: () => boolean }

/** Sends a body to a command, as fast as that reads. When the body breaks off the command is ended. */
function pour(body: Readable, channel: Channel): Pouring {
  const { stdin } = channel
  let bytes = 0
  let isWhole = false
  const pass = (piece: Buffer): void => {
    bytes += piece.length
    if (!stdin.write(piece)) body.pause()
  }
  const resume = (): void => void body.resume()
  const end = (): void => {
    isWhole = true
    stdin.end()
  }
  const broken = (): void => {
    if (!isWhole) channel.close()
  }
  stdin.on('error', () => undefined) // its exit reports that
  stdin.on('drain', resume)
  body.on('data', pass).once('end', end).once('error', broken).once('close', broken)
  return {
    bytes: () => bytes,
    isWhole: () => isWhole,
    stop() {
      stdin.off('drain', resume)
      body.off('data', pass).off('end', end).off('close', broken)
      body.resume()
    },
  }
}

/** How much of an unfinished upload has arrived; null when there is none. */
async function findProgress(machine: Machine, { path, format }: FilePlace): Promise<number | null> {
  const { exitCode, stdout } = await execInGuest(machine, {
    argv: script(progressScript, 'progress', path, format, 'no'),
    timeoutMs: progressMs,
  })
  return exitCode === 0 && /^\d{1,15}\n$/.test(stdout) ? Number(stdout) : null
}

function nothingYet(uploadedBytes: number | null): FileAnswer {
  return { facts: null, part: { status: 200, startByte: 0, lengthBytes: 0 }, uploadedBytes }
}

function script(text: string, name: string, ...args: string[]): string[] {
  return ['/bin/bash', '-c', text, name, ...args]
}

/** The guest's first line, and what came behind it; undefined when it ended without one. */
async function readHead(pieces: AsyncIterator<Buffer>): Promise<{ line: string; rest: Buffer } | undefined> {
  let head: Buffer = Buffer.alloc(0)
  for (;;) {
    const { done, value } = await pieces.next()
    if (done) return undefined
    head = Buffer.concat([head, value])
    const end = head.indexOf('\n')
    if (end >= 0) return { line: head.toString('latin1', 0, end), rest: head.subarray(end + 1) }
    if (head.length > headBytesMax) throw unreachable()
  }
}

/** @throws BerthError vm_unreachable when something else than our script answers. */
function factsOf(line: string): FileFacts {
  const [, size = '', seconds = '', nanoseconds = '', mark = ''] =
    /^(\d{1,15}) (\d{1,12})\.(\d{9}) ([0-9a-f]{1,64})$/.exec(line) ?? []
  if (size === '') throw unreachable()
  const version = [Number(size).toString(36), Number(seconds).toString(36), Number(nanoseconds).toString(36)]
  return {
    sizeBytes: Number(size),
    modifiedMs: Number(seconds) * 1000 + Math.trunc(Number(nanoseconds) / 1e6),
    etag: `"${[...version, mark.slice(0, 32)].join('-')}"`,
  }
}

async function inTime<Result>(reading: Promise<Result>, channel: Channel): Promise<Result> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(
      new BerthError(
        'timeout',
        'The VM did not say in time what is at this path. For a folder with very many entries, make the archive with a command, and get that.',
      ),
    )
    channel.close()
  }, fileLimits.describeSeconds * 1000)
  reading.catch(() => undefined) // thrown below, unless it was late
  return Promise.race([reading, late.promise]).finally(() => clearTimeout(timer))
}

/** Collects the end of what a command complains about. */
function complaintOf({ stderr }: Channel): () => string {
  let bytes: Buffer = Buffer.alloc(0)
  stderr.on('data', (piece: Buffer) => {
    bytes = Buffer.concat([bytes, piece]).subarray(-complaintBytesMax)
  })
  return () => bytes.toString('utf8')
}

/** Collects the little that a command prints. */
function textOf({ stdout }: Channel): () => string {
  let text = ''
  stdout.on('data', (piece: Buffer) => {
    text = (text + piece.toString('latin1')).slice(-headBytesMax)
  })
  return () => text.trim()
}
