/**
 * Disks and operations on them. A guest controls the content of its disk, and an attacker who breaks out of QEMU
 * controls the whole file, including its header. So formats are always given and never probed, backing files are named
 * by us and never taken from a header, and qemu-img reads a disk only as the machine's own user.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { confined, lending, lentDescriptor, type Lent } from './confinement.ts'
import { giveTo } from './machine-users.ts'

/** An image and its backing files, the top one first. */
export type Image = { path: string; format: 'raw' | 'qcow2'; below?: Image }

/** A block device for QEMU, with every option given, so that nothing is read from a header. */
export type BlockOptions = { driver: string; file: { driver: 'file'; filename: string }; backing?: BlockOptions | null }

const mebibyte = 1024 ** 2
const createTimeoutMs = 30_000
/** The time limit for reading and writing a whole disk on a slow host. */
const convertTimeoutMs = 10 * 60_000
const memoryBytes = 2048 * mebibyte
/** The maximum overhead of a qcow2 file over its content: a sixteenth, and its tables. */
const overhead = { share: 1 / 16, bytes: 64 * mebibyte }
/** The maximum of qemu-img's output that is read. */
const outputCharactersMax = 64 * 1024

/** An image with its backing files, as options for QEMU and qemu-img. */
export function blockOptions({ path, format, below }: Image): BlockOptions {
  return {
    driver: format,
    file: { driver: 'file', filename: path },
    ...(format === 'qcow2' ? { backing: below ? blockOptions(below) : null } : {}),
  }
}

/** Creates an empty disk on top of an image, readable by this user only. The image is not opened. */
export async function createOverlay(uid: number | null, disk: string, below: Image, sizeMb: number): Promise<void> {
  closeSync(openSync(disk, 'wx', 0o600))
  giveTo(uid, disk)
  await qemuImg(uid, ['create', '-q', '-u', '-f', 'qcow2', '-F', below.format, '-b', below.path, disk, `${sizeMb}M`], {
    timeoutMs: createTimeoutMs,
    fileBytes: overhead.bytes,
  })
}

/** Copies an image with its backing files into an existing empty file that this user owns. */
export async function flatten(
  uid: number | null,
  image: Image,
  target: string,
  sizeMb: number,
  lent: Lent | null,
): Promise<void> {
  const fileBytes = Math.ceil(sizeMb * mebibyte * (1 + overhead.share)) + overhead.bytes
  await qemuImg(uid, ['convert', '-O', 'qcow2', `json:${JSON.stringify(blockOptions(image))}`, target], {
    timeoutMs: convertTimeoutMs,
    fileBytes,
    lent,
  })
}

/** The fields of a disk's own header that are read. */
type Header = {
  'backing-filename'?: string
  'backing-filename-format'?: string
  'virtual-size': number
  encrypted?: boolean
  'format-specific'?: { data?: Record<string, unknown> }
}

/** The path of the backing file in a disk's header; undefined when there is none. */
export async function readBacking(uid: number | null, disk: string): Promise<string | undefined> {
  return (await readHeader(uid, disk))['backing-filename']
}

/** @throws Error when a disk was altered: another backing file, external data, encryption, or a larger size. */
export async function checkHeader(uid: number | null, { path, below }: Image, sizeMb: number): Promise<void> {
  const header = await readHeader(uid, path)
  const elsewhere = header['format-specific']?.data ?? {}
  const faults = [
    ...(header['backing-filename'] === below?.path && header['backing-filename-format'] === below?.format
      ? []
      : ['it has the wrong backing file']),
    ...('data-file' in elsewhere ? ['its data is in another file'] : []),
    ...(header.encrypted || 'encrypt' in elsewhere ? ['it is encrypted'] : []),
    ...(header['virtual-size'] > sizeMb * mebibyte ? ['it is larger'] : []),
  ]
  if (faults.length > 0) throw new Error(`the disk ${basename(dirname(path))} was altered: ${faults.join(', ')}`)
}

async function readHeader(uid: number | null, disk: string): Promise<Header> {
  return JSON.parse(
    await qemuImg(uid, ['info', '-U', '-f', 'qcow2', '--output=json', disk], {
      timeoutMs: createTimeoutMs,
      fileBytes: overhead.bytes,
    }),
  ) as Header // qemu-img's own message
}

const unused = Array.from({ length: lentDescriptor - 3 }, () => 'ignore' as const)

type Options = { timeoutMs: number; fileBytes: number; lent?: Lent | null }

/** Runs qemu-img and returns its output. @throws Error with its message. */
async function qemuImg(
  uid: number | null,
  args: readonly string[],
  { timeoutMs, fileBytes, lent = null }: Options,
): Promise<string> {
  const { program, args: words } = confined(
    uid,
    { memoryBytes, processorSeconds: Math.ceil(timeoutMs / 1000), fileBytes },
    ['qemu-img', ...args],
  )
  const file = lent ? openSync(lent.path, 'r') : undefined
  try {
    const child = spawn(program, words, {
      ...lending(lent),
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      stdio: ['ignore', 'pipe', 'pipe', ...unused, file ?? 'ignore'],
    })
    const printed = { out: '', errors: '' }
    const keep =
      (stream: 'out' | 'errors') =>
      (text: string): void => {
        if (printed[stream].length < outputCharactersMax) printed[stream] += text
      }
    child.stdout?.setEncoding('utf8').on('data', keep('out'))
    child.stderr?.setEncoding('utf8').on('data', keep('errors'))
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    if (code !== 0) throw new Error(`qemu-img ${args[0]} failed (${code ?? 'killed'}): ${printed.errors.trim()}`)
    return printed.out
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
