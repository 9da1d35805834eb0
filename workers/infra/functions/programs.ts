/** The program of an instance in its VM: brought there, started, and waited for until it listens. */
import { setTimeout as pause } from 'node:timers/promises'
import { Readable } from 'node:stream'
import { pushEnv } from '#src/drivers/compute/guest/env.ts'
import { startKept } from '#src/drivers/compute/guest/kept.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { BerthError } from '#src/platform/errors.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import type { Background } from '#src/platform/services.ts'
import type { FunctionVersion } from '#src/resources/infra/functions/rows.ts'
import { endOf } from '#src/platform/texts.ts'

/** Where the files of a version are in its VM. */
const home = '/home/user'
const folderName = 'app'
const folder = `${home}/${folderName}`
/** Enough of a file to know what it is. */
const headBytes = 512
const complaintLength = 500
/** While nothing listens yet it is tried again: soon at first, then less often. */
const probeMsFirst = 20
const probeMsMax = 150

/** Why a program did not start, as a sentence for its owner. */
export class StartFailure extends Error {}

type Kind = 'program' | 'zip' | 'tar' | 'gzip' | 'xz' | 'bzip2' | 'zstd'
const untar = (option: string): string[] => inFolder(`exec tar ${option} - --no-same-owner -C "$1"`)
/** Under emulation starting a program takes a tenth of a second, so each starts as few as possible. */
const unpack: Readonly<Record<Kind, readonly string[]>> = {
  program: ['/bin/tar', '-xf', '-', '--no-same-owner', '-C', home], // as an archive of one file and its folder
  zip: inFolder('cat > /tmp/binary.zip && unzip -qo /tmp/binary.zip -d "$1" && rm -f /tmp/binary.zip'),
  tar: untar('-xf'),
  gzip: untar('-xzf'),
  xz: untar('-xJf'),
  bzip2: untar('-xjf'),
  zstd: untar('--zstd -xf'),
}

function inFolder(script: string): string[] {
  return ['/bin/dash', '-c', `mkdir -p "$1" && ${script}`, 'unpack', folder]
}

/**
 * What is started without a command: what people write for other platforms, then a program by its usual names. It ends as
 * the command itself, so that its exit code and its signals are the command's.
 */
const findScript = `command=
[ -f Procfile ] && command=$(sed -n 's/^web:[[:space:]]*//p' Procfile | head -n 1)
[ -z "$command" ] && [ -f package.json ] && grep -q '"start"' package.json && command='exec npm start'
for name in app server main; do [ -z "$command" ] && [ -f "$name" ] && [ -x "$name" ] && exec "./$name"; done
[ -n "$command" ] || { echo 'There is nothing to start: set startCommand, or put a Procfile with the line "web: <command>" at the top of the archive.'; exit 127; }
exec /bin/dash -c "$command"`

/**
 * Brings a version and its variables into its VM. May be repeated.
 * @throws StartFailure; BerthError vm_unreachable.
 */
export async function prepareProgram(
  services: Pick<Background, 'config' | 'sealer'>,
  machine: Machine,
  version: Pick<FunctionVersion, 'objectKey' | 'port'>,
  variables: Readonly<Record<string, string>>,
): Promise<void> {
  await Promise.all([
    pushEnv(machine, { ...variables, PORT: String(version.port) }),
    bringBinary(services, machine, version.objectKey),
  ])
}

async function bringBinary(
  services: Pick<Background, 'config' | 'sealer'>,
  machine: Machine,
  key: string,
): Promise<void> {
  const { head, sizeBytes } = await readHead(services, key)
  const kind = kindOf(head)
  const binary = await readBinary(services, key)
  const channel = await machine.run({ argv: unpack[kind], timeoutMs: functionLimits.unpackSeconds * 1000 })
  let complaint = ''
  channel.stdin.on('error', () => undefined) // its exit reports that
  channel.stdout.resume()
  channel.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = endOf(complaint + text, complaintLength)
  })
  binary.on('error', () => channel.close())
  if (kind === 'program') asArchive(binary, sizeBytes).pipe(channel.stdin)
  else binary.pipe(channel.stdin)
  try {
    const { exitCode } = await channel.exit
    if (exitCode !== 0)
      throw new StartFailure(`Its file could not be unpacked. ${complaint.trim().split('\n').at(-1) ?? ''}`.trim())
  } finally {
    binary.destroy()
  }
}

async function readBinary(services: Pick<Background, 'config' | 'sealer'>, key: string): Promise<Readable> {
  try {
    return await objectStore(services).read(key)
  } catch (error) {
    throw goneOr(error)
  }
}

async function readHead(
  services: Pick<Background, 'config' | 'sealer'>,
  key: string,
): Promise<{ head: Buffer; sizeBytes: number }> {
  const found = await objectStore(services).find(key)
  if (!found) throw goneOr(new BerthError('not_found', 'gone'))
  if (found.sizeBytes === 0) throw new StartFailure('Its file is empty. Deploy another one.')
  const endByte = Math.min(headBytes, found.sizeBytes) - 1
  const pieces: Buffer[] = []
  for await (const piece of (await objectStore(services).read(key, { startByte: 0, endByte })) as AsyncIterable<Buffer>)
    pieces.push(piece)
  return { head: Buffer.concat(pieces), sizeBytes: found.sizeBytes }
}

const blockBytes = 512
const executable = 0o755

/** A program as a tar archive, in which it is called `app` and may be executed. */
function asArchive(program: Readable, sizeBytes: number): Readable {
  const head = Buffer.alloc(blockBytes)
  const octal = (value: number, at: number, length: number): number =>
    head.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1')
  head.write(`${folderName}/app`, 0)
  octal(executable, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(sizeBytes, 124, 12)
  octal(0, 136, 12)
  head.write('        0', 148) // the sum is made with blanks in its place; a file
  head.write('ustar\x0000', 257, 'latin1')
  octal(
    head.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  )
  const paddingBytes = (blockBytes - (sizeBytes % blockBytes)) % blockBytes
  return Readable.from(
    (async function* () {
      yield head
      yield* program as AsyncIterable<Buffer>
      yield Buffer.alloc(paddingBytes + 2 * blockBytes)
    })(),
    { objectMode: false },
  )
}

function goneOr(error: unknown): unknown {
  return error instanceof BerthError && error.code === 'not_found'
    ? new StartFailure('Its file is not stored any more. Deploy it again.')
    : error
}

/** What a file is, by how it begins. */
export function kindOf(head: Buffer): Kind {
  const begins = (hex: string): boolean => head.toString('hex', 0, hex.length / 2) === hex
  if (begins('504b0304') || begins('504b0506')) return 'zip'
  if (begins('1f8b')) return 'gzip'
  if (begins('fd377a585a00')) return 'xz'
  if (begins('425a68')) return 'bzip2'
  if (begins('28b52ffd')) return 'zstd'
  return head.toString('latin1', 257, 262) === 'ustar' ? 'tar' : 'program'
}

/** Starts the program under this name; starting it again has no effect. @throws GuestRefusal, BerthError vm_unreachable */
export async function startProgram(machine: Machine, name: string, startCommand: string | null): Promise<void> {
  const argv = ['/bin/dash', '-c', startCommand ?? findScript]
  await startKept(machine, name, { argv, workingDir: folder, timeoutMs: 0 })
}

/** Looks whether something listens at a port. */
export type Probing = {
  /** False when that took too long, or was over. Rejects with BerthError vm_unreachable. */
  found: Promise<boolean>
  /** Looks now: the program has just printed something, which may be that it listens. */
  look(): void
}

/** Begins to look, until something listens, `over` fires, or it took too long. */
export function probe(machine: Machine, port: number, limitSeconds: number, over: AbortSignal): Probing {
  let look = (): void => undefined
  async function search(): Promise<boolean> {
    const untilMs = performance.now() + limitSeconds * 1000
    for (let waitMs = probeMsFirst; !over.aborted && performance.now() < untilMs; ) {
      if (await isListening(machine, port)) return true
      const looked = new AbortController()
      look = () => looked.abort()
      await pause(waitMs, undefined, { signal: AbortSignal.any([over, looked.signal]) }).catch(() => undefined) // the loop looks
      waitMs = Math.min(probeMsMax, waitMs * 1.5)
    }
    return false
  }
  return { found: search(), look: () => look() }
}

async function isListening(machine: Machine, port: number): Promise<boolean> {
  try {
    const connection = await machine.connectPort(port)
    connection.on('error', () => undefined) // it is not used
    connection.destroy()
    return true
  } catch (error) {
    if (!(error instanceof BerthError) || error.code !== 'upstream_error') throw error
    return false
  }
}
