/** Saves a machine's state into a file, which QEMU itself may not open: it writes to a socket of ours. */
import { createWriteStream, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { giveTo } from './machine-users.ts'
import type { Qmp } from './qmp.ts'

/** The time limit for writing all memory of the largest machine to a slow disk. */
const saveLimitMs = 5 * 60_000
/** QEMU's own limit, made for migration over a network, would make this take a hundred times as long. Unit: bytes a second. */
const bandwidth = 2 ** 40

/** The size of the devices' state besides a machine's memory, and the overhead of the memory itself. */
const devicesBytes = 64 * 1024 * 1024
const marksShare = 1 / 64

/**
 * The destination of a state: a file, written through a socket at a free path that this user (null: the current one)
 * can reach. `memoryMb` is 0 when the memory is a shared file that stays.
 */
export type Saving = { socketPath: string; file: string; uid: number | null; memoryMb: number }

/** Saves the state of a stopped machine. @throws Error when QEMU could not save it completely. */
export async function saveState(qmp: Qmp, { socketPath, file, uid, memoryMb }: Saving): Promise<void> {
  rmSync(socketPath, { force: true })
  const server = createServer()
  server.listen(socketPath)
  await once(server, 'listening')
  giveTo(uid, socketPath)
  const bytesMax = devicesBytes + Math.ceil(memoryMb * 1024 * 1024 * (1 + marksShare))
  const written = once(server, 'connection').then(([socket]) =>
    pipeline(socket, atMost(bytesMax), createWriteStream(file, { mode: 0o600 })),
  )
  try {
    await qmp.execute('migrate-set-capabilities', {
      capabilities: [
        { capability: 'events', state: true },
        { capability: 'x-ignore-shared', state: memoryMb === 0 },
      ],
    })
    await qmp.execute('migrate-set-parameters', { 'max-bandwidth': bandwidth })
    const ended = qmp.event('MIGRATION', saveLimitMs, ({ status }) => status === 'completed' || status === 'failed')
    await qmp.execute('migrate', { uri: `unix:${socketPath}` })
    const { status } = await ended
    if (status !== 'completed') throw new Error('QEMU could not save the state')
    await written
  } finally {
    written.catch(() => undefined) // the failure above says more
    server.close()
    rmSync(socketPath, { force: true })
  }
}

/**
 * Loads the state that QEMU was started with as descriptor 3 (see startQemu); the machine is then paused until `cont`.
 */
export async function loadState(qmp: Qmp, memoryToo: boolean): Promise<void> {
  await qmp.execute('migrate-set-capabilities', {
    capabilities: [
      { capability: 'events', state: true },
      { capability: 'x-ignore-shared', state: !memoryToo },
    ],
  })
  const ended = qmp.event('MIGRATION', saveLimitMs, ({ status }) => status === 'completed' || status === 'failed')
  ended.catch(() => undefined) // when the command itself is refused, that is the error
  await qmp.execute('migrate-incoming', { uri: 'fd:3' })
  const { status } = await ended
  if (status !== 'completed') throw new Error('QEMU could not load the saved state')
}

/** Passes on so many bytes, then fails, because a compromised QEMU could write without end. */
function atMost(bytesMax: number): Transform {
  let passed = 0
  return new Transform({
    transform(piece: Buffer, _encoding, next) {
      passed += piece.length
      next(passed > bytesMax ? new Error('QEMU saved more than its machine has') : null, piece)
    },
  })
}
