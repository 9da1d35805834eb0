/** What the guest's scripts of file-scripts.ts refuse, as errors for the caller. */
import type { FilePlace } from '#src/drivers/node/file-transfers.ts'
import { BerthError } from '#src/platform/errors.ts'
import { codes } from './file-scripts.ts'
import { startOf } from '#src/platform/texts.ts'

const complaintCharacters = 200

/** The error for what a script ended with: its exit code, and the end of what it complained. */
export function refusal(exitCode: number, { path }: FilePlace, stderr: string): BerthError {
  const invalid = (sentence: string): BerthError => new BerthError('invalid_request', sentence)
  const reason = shortened(stderr.trim().split('\n').at(-1)?.split(': ').at(-1) ?? '')
  if (exitCode === codes.absent && (!reason || /^(No such file|Not a directory)/.test(reason)))
    return new BerthError('not_found', `There is nothing at ${path}.`, { noun: 'file' })
  if (exitCode === codes.folder)
    return invalid(`${path} is a folder. Add format=tar to get or put it as a tar archive.`)
  if (exitCode === codes.notFolder) return invalid(`${path} is not a folder. Without format=tar it is a file.`)
  if (exitCode === codes.system) return invalid(`${path} is a part of the system, not a file. Use a command instead.`)
  if (exitCode === codes.special) return invalid(`${path} is a device, a socket or a pipe, not a file.`)
  if (exitCode === codes.archive)
    return invalid(
      'The body is not a whole tar archive, plain or compressed by gzip, xz or bzip2. Nothing was unpacked.',
    )
  if (exitCode === codes.full)
    return new BerthError(
      'request_too_large',
      'The VM’s disk has no room for this. Delete something in it, and try again.',
    )
  if (exitCode === codes.fullInside)
    return new BerthError(
      'request_too_large',
      'The VM’s disk has no room for everything in the archive. A part of it is unpacked. Delete something, and send it again.',
    )
  if (exitCode === codes.entry)
    return invalid(
      `Not everything in the archive could be unpacked into ${path}; the rest is there. The first complaint: ${complaintIn(stderr)}.`,
    )
  if (exitCode === codes.busy || exitCode === codes.other || exitCode === codes.ended) return replaced()
  return invalid(reason ? `${path}: ${reason}.` : `${path} could not be used.`)
}

function complaintIn(stderr: string): string {
  return shortened(stderr.trim().replace(/^tar: /, ''))
}

function shortened(complaint: string): string {
  return startOf(complaint.replaceAll(/\p{Cc}/gu, ' '), complaintCharacters)
}

/** The error of an upload whose place another one has taken. */
export function replaced(): BerthError {
  return new BerthError(
    'invalid_transition',
    'Another upload to this path is in progress, and took the place of this one.',
  )
}
