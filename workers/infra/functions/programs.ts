/** The program of an instance in its VM: brought there, started, and waited for until it listens. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Readable } from 'node:stream'
import { pushEnv } from '#src/drivers/compute/guest/env.ts'
import { startKept } from '#src/drivers/compute/guest/kept.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { BerthError } from '#src/platform/errors.ts'
import { functionLimits } from '#src/platform/limits/functions.ts'
import type { Background } from '#src/platform/services.ts'
import type { FunctionVersion } from '#src/resources/infra/functions/rows.ts'

/** Where the files of a version are in its VM. */
const folder = '/home/user/app'
/** Enough of a file to know what it is. */
const headBytes = 512
const complaintLength = 500
/** While nothing listens yet it is tried again: soon at first, then less often. */
const probeMsFirst = 20
const probeMsMax = 250

/** Why a program did not start, as a sentence for its owner. */
export class StartFailure extends Error {}

type Kind = 'program' | 'zip' | 'tar' | 'gzip' | 'xz' | 'bzip2' | 'zstd'
const unpack: Readonly<Record<Kind, string>> = {
  program: 'cat > "$1/app" && chmod 755 "$1/app"',
  zip: 'cat > /tmp/binary.zip && unzip -q /tmp/binary.zip -d "$1" && rm -f /tmp/binary.zip',
  tar: 'tar -xf - -C "$1" --no-same-owner',
  gzip: 'tar -xzf - -C "$1" --no-same-owner',
  xz: 'tar -xJf - -C "$1" --no-same-owner',
  bzip2: 'tar -xjf - -C "$1" --no-same-owner',
  zstd: 'tar --zstd -xf - -C "$1" --no-same-owner',
}

/**
 * What is started without a command: what people write for other platforms, then a program by its usual names. It ends as
 * the command itself, so that its exit code and its signals are the command's.
 */
const findScript = `command=
[ -f Procfile ] && command=$(sed -n 's/^web:[[:space:]]*//p' Procfile | head -n 1)
[ -z "$command" ] && [ -f package.json ] && grep -q '"start"' package.json && command='exec npm start'
for name in app server main; do [ -z "$command" ] && [ -f "$name" ] && [ -x "$name" ] && command="exec ./$name"; done
[ -n "$command" ] || { echo 'There is nothing to start: set startCommand, or add a Procfile with the line "web: <command>".'; exit 127; }
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
  const kind = kindOf(await readHead(services, key))
  const binary = await readBinary(services, key)
  const channel = await machine.run({
    argv: ['/bin/dash', '-c', `rm -rf "$1" && mkdir -p "$1" && ${unpack[kind]}`, 'unpack', folder],
    timeoutMs: functionLimits.unpackSeconds * 1000,
  })
  let complaint = ''
  channel.stdin.on('error', () => undefined) // its exit reports that
  channel.stdout.resume()
  channel.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-complaintLength)
  })
  binary.on('error', () => channel.close())
  binary.pipe(channel.stdin)
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

async function readHead(services: Pick<Background, 'config' | 'sealer'>, key: string): Promise<Buffer> {
  const found = await objectStore(services).find(key)
  if (!found) throw goneOr(new BerthError('not_found', 'gone'))
  if (found.sizeBytes === 0) throw new StartFailure('Its file is empty. Deploy another one.')
  const endByte = Math.min(headBytes, found.sizeBytes) - 1
  const pieces: Buffer[] = []
  for await (const piece of (await objectStore(services).read(key, { startByte: 0, endByte })) as AsyncIterable<Buffer>)
    pieces.push(piece)
  return Buffer.concat(pieces)
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

/**
 * Waits until something listens at the port.
 * @returns false when that took too long, or `over` has fired.
 * @throws BerthError vm_unreachable
 */
export async function listens(machine: Machine, port: number, over: AbortSignal): Promise<boolean> {
  const untilMs = performance.now() + functionLimits.listenSeconds * 1000
  for (let waitMs = probeMsFirst; !over.aborted && performance.now() < untilMs; ) {
    try {
      const connection = await machine.connectPort(port)
      connection.on('error', () => undefined) // it is not used
      connection.destroy()
      return true
    } catch (error) {
      if (!(error instanceof BerthError) || error.code !== 'upstream_error') throw error
    }
    await pause(waitMs, undefined, { signal: over }).catch(() => undefined) // the loop looks
    waitMs = Math.min(probeMsMax, waitMs * 1.5)
  }
  return false
}
