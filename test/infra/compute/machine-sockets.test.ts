/** The sockets of a machine whose other end is no longer ours: a QEMU that was broken out of, or root on the guest's line. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { once } from 'node:events'
import { pino } from 'pino'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { createCompute } from '#src/drivers/compute/compute.ts'
import { openLine } from '#src/drivers/compute/guest/line.ts'
import { machinePlaces } from '#src/drivers/compute/places.ts'
import { connectQmp, open } from '#src/drivers/compute/qemu/qmp.ts'
import { writeRecord, type MachineRecord } from '#src/drivers/compute/records.ts'
import { encodeId, newUuid } from '#src/platform/ids.ts'
import { keptBytes } from '../../support/stalls/memory.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-sockets-'))
const path = join(folder, 'socket')
/** Lets connections wait, as a QEMU that still has the last worker's, until it is told to take them. */
const acceptsOnCommand = `
  require('node:net').createServer(() => {}).listen({ path: process.argv[1], backlog: 1 }, () => {
    process.stdout.write('listens')
    require('node:fs').readSync(0, Buffer.alloc(1))
  })`
const mebibyte = 1024 ** 2
const grownBytesMax = 20 * mebibyte
let server: Server | undefined
afterEach(() => server?.close())
afterAll(() => rmSync(folder, { recursive: true }))

async function listen(onConnection: (socket: Socket) => void, at = path): Promise<void> {
  rmSync(at, { force: true })
  server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    onConnection(socket)
  }).listen(at)
  await once(server, 'listening')
}

/** Writes as fast as the other side takes it, until it is gone. */
function flood(socket: Socket, piece: string): void {
  const bytes = Buffer.from(piece.repeat(Math.ceil((64 * 1024) / piece.length)))
  const more = (): void => {
    while (!socket.destroyed && socket.write(bytes)) continue
  }
  socket.on('drain', more)
  more()
}

/** A QEMU that greets, answers the first command, and then does this. */
function qemu(then: (socket: Socket) => void): (socket: Socket) => void {
  return (socket) => {
    socket.write('{"QMP": {}}\n')
    socket.once('data', () => {
      socket.write('{"return": {}}\n')
      then(socket)
    })
  }
}

const floods: [what: string, piece: string][] = [
  ['a line without end', 'x'],
  ['events without end', '{"event": "RTC_CHANGE", "data": {}}\n'],
  ['answers that nobody asked for', '{"return": {}}\n'],
  ['what is not JSON', '{{{\n'],
  ['JSON that is no object', '17\n'],
  ['an event without a name', '{"event": {"a": 1}, "data": 3}\n'],
]
test.each(floods)('a QEMU that says %s loses its control connection', async (_what, piece) => {
  await listen(qemu((socket) => flood(socket, piece)))
  await (await connectQmp(path, () => true)).closed // what the flood itself takes of this process is taken before
  const before = await keptBytes()
  const qmp = await connectQmp(path, () => true)
  expect(await qmp.closed).toEqual({ guestEnd: null })
  expect((await keptBytes()) - before).toBeLessThan(grownBytesMax)
  await expect(qmp.execute('stop')).rejects.toThrow('QEMU has ended')
})

test('a QEMU that takes the connection and says nothing is lost, and the worker adopts its machines without waiting for more', async () => {
  const [roots, machineUuid, id] = [
    { cacheDir: folder, dataDir: folder, runDir: join(folder, 'run') },
    newUuid(),
    encodeId('vm', newUuid()).slice('vm_'.length),
  ]
  const places = machinePlaces(roots, machineUuid)
  for (const one of [places.folder, dirname(places.qmp)]) mkdirSync(one, { recursive: true })
  writeRecord(roots, { machineUuid, id, uid: null, reached: true, up: true, hasFolder: true } as MachineRecord) // what adoption reads
  const words = ['-e', 'setInterval(() => {}, 1e6)', 'qemu-system-silent', '-uuid', machineUuid, places.disk]
  const process = spawn(execPath, words, { stdio: 'ignore' })
  await once(process, 'spawn')
  const gone = once(process, 'exit')
  const accepted = Promise.withResolvers<Socket>()
  await listen((socket) => accepted.resolve(socket), places.qmp)
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    const compute = createCompute({
      ...roots,
      poolSize: 0,
      vmUids: null,
      log: pino({ level: 'silent' }),
      onEgress: (_, connection) => void connection.destroy(),
      onExit: () => undefined,
    })
    const adopting = compute.adopt()
    const socket = await accepted.promise
    const cut = once(socket, 'close')
    await vi.advanceTimersByTimeAsync(9_000)
    expect([socket.destroyed, process.killed, process.exitCode]).toEqual([false, false, null])
    vi.advanceTimersByTime(2_000)
    vi.useRealTimers()
    expect(await adopting).toEqual([])
    await Promise.all([cut, gone])
    expect([process.signalCode, compute.find(id)]).toEqual(['SIGKILL', undefined])
    await compute.close()
  } finally {
    vi.useRealTimers()
    process.kill('SIGKILL')
  }
})

test.each([
  ['lines', 'ready\n'],
  ['a line without end', 'x'],
  ['nothing but ends of lines', '\n'],
])('a guest that floods its line with %s is without a line', async (_what, piece) => {
  const closed = Promise.withResolvers<void>()
  await listen((socket) => {
    socket.once('close', () => closed.resolve())
    flood(socket, piece)
  })
  const before = await keptBytes()
  const line = await openLine(path)
  await closed.promise
  await expect(line.endSessions()).rejects.toThrow(/^the (?:line to the guest is closed|guest answered)/) // over a new line
  expect((await keptBytes()) - before).toBeLessThan(grownBytesMax)
})

test('a guest that did not answer in time is asked again over a new connection', async () => {
  const lines: { heard: string; closed: Promise<unknown> }[] = []
  const asked = Promise.withResolvers<void>()
  await listen((socket) => {
    const line = { heard: '', closed: once(socket, 'close') }
    const isFirst = lines.push(line) === 1
    socket.on('data', (bytes) => {
      line.heard += bytes.toString('latin1')
      if (isFirst) asked.resolve()
      else socket.write('sessions ended\n')
    })
  })
  const line = await openLine(path)
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    const asking = line.endSessions()
    asking.catch(() => undefined) // expected below
    await asked.promise
    await vi.advanceTimersByTimeAsync(10_000)
    await expect(asking).rejects.toThrow('the guest does not answer on its line')
  } finally {
    vi.useRealTimers()
  }
  await line.endSessions()
  await lines[0]?.closed
  expect(lines.map(({ heard }) => heard)).toEqual(['x\0\0\0\0', 'x\0\0\0\0'])
  line.close()
  await expect(line.endSessions()).rejects.toThrow('the line to the guest is closed')
})

test('a socket that has no place for one more connection is opened as soon as it has', async () => {
  rmSync(path, { force: true })
  const listener = spawn(execPath, ['-e', acceptsOnCommand, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  const begun: Socket[] = []
  const connectOnce = (): Promise<string> => {
    const socket = connect(path)
    begun.push(socket)
    return once(socket, 'connect').then(
      () => 'connected',
      (error: { code?: string }) => String(error.code),
    )
  }
  try {
    await once(listener.stdout, 'data')
    expect([await connectOnce(), await connectOnce(), await connectOnce()]).toEqual([
      'connected',
      'connected',
      'EAGAIN',
    ])
    const opened = open(path)
    expect(await Promise.race([opened.then(() => 'connected'), connectOnce()])).toBe('EAGAIN')
    listener.stdin.write('now')
    begun.push(await opened)
  } finally {
    for (const socket of begun) socket.destroy()
    listener.kill('SIGKILL')
  }
})

test('a guest that does not read its line does not get the time without end', async () => {
  const accepted = Promise.withResolvers<Socket>()
  await listen((socket) => accepted.resolve(socket.pause()))
  const line = await openLine(path)
  const socket = await accepted.promise
  const everyTenSecondsForAMonth = 260_000
  const before = process.memoryUsage().arrayBuffers
  for (let times = 0; times < everyTenSecondsForAMonth / 10; times++) line.refresh()
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(mebibyte)
  line.close()
  socket.destroy()
})
