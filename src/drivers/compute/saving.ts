/** Saves a machine's state into a file, which QEMU itself may not open: it writes to a socket of ours. */
import { chmodSync, createWriteStream, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { pipeline } from 'node:stream/promises'
import type { Qmp } from './qmp.ts'

/** All memory of the largest machine, written to a slow disk. */
const saveLimitMs = 5 * 60_000
/** QEMU's own limit, made for migration over a network, would make this take a hundred times as long. Unit: bytes a second. */
const bandwidth = 2 ** 40

/**
 * Saves the state of a stopped machine.
 * @param socketPath a free place that QEMU can reach.
 * @param memoryToo false when the memory is a shared file that stays.
 * @throws Error when QEMU could not save it whole.
 */
export async function saveState(qmp: Qmp, socketPath: string, file: string, memoryToo: boolean): Promise<void> {
  rmSync(socketPath, { force: true })
  const server = createServer()
  server.listen(socketPath)
  await once(server, 'listening')
  chmodSync(socketPath, 0o666) // the folder keeps everybody but QEMU's user out
  const written = once(server, 'connection').then(([socket]) => pipeline(socket, createWriteStream(file, { mode: 0o600 })))
  try {
    await qmp.execute('migrate-set-capabilities', { capabilities: [{ capability: 'events', state: true }, { capability: 'x-ignore-shared', state: !memoryToo }] })
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

/** Loads the state that QEMU was started with as descriptor 3 (see startQemu); the machine then stands still until `cont`. */
export async function loadState(qmp: Qmp, memoryToo: boolean): Promise<void> {
  await qmp.execute('migrate-set-capabilities', { capabilities: [{ capability: 'events', state: true }, { capability: 'x-ignore-shared', state: !memoryToo }] })
  const ended = qmp.event('MIGRATION', saveLimitMs, ({ status }) => status === 'completed' || status === 'failed')
  ended.catch(() => undefined) // when the command itself is refused, that is the error
  await qmp.execute('migrate-incoming', { uri: 'fd:3' })
  const { status } = await ended
  if (status !== 'completed') throw new Error('QEMU could not load the saved state')
}
