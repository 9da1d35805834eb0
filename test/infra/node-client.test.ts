/** How requests and followers wait for a node whose worker starts again: a server of the test's own stands for the workers. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nodeClient, type NodeClient, type OutputChunk } from '#src/drivers/node.ts'
import { limits } from '#src/platform/limits.ts'

type Asked = { name: string; body: Record<string, unknown> }

let folder: string
let client: NodeClient
let worker: Server | undefined
let asked: Asked[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-node-'))
  client = nodeClient(`unix:${join(folder, 'node.sock')}`, 'token')
  asked = []
})
afterEach(async () => {
  await endWorker()
  rmSync(folder, { recursive: true })
})

/** A worker starts, and answers so. */
async function startWorker(answer: (response: ServerResponse, asked: Asked) => void): Promise<void> {
  const server = createServer((request: IncomingMessage, response) => {
    let text = ''
    request
      .setEncoding('utf8')
      .on('data', (piece: string) => (text += piece))
      .on('end', () => {
        const one = { name: request.url?.slice(1) ?? '', body: JSON.parse(text) as Record<string, unknown> }
        asked.push(one)
        answer(response, one)
      })
  })
  worker = server
  await new Promise<void>((ready) => server.listen(join(folder, 'node.sock'), ready))
}

/** The worker dies: its connections break. */
async function endWorker(): Promise<void> {
  const dying = worker
  worker = undefined
  if (!dying) return
  const ended = new Promise((end) => dying.close(end))
  dying.closeAllConnections()
  await ended
}

const exec = () =>
  client.call(
    'exec',
    { vmId: 'vm', envGeneration: 0, command: 'true', args: null, workingDir: null, timeoutMs: 1000, stdin: null },
    { silenceMs: 10_000 },
  )
const result = { stdout: 'ran\n', stderr: '', exitCode: 0, timedOut: false, durationMs: 1 }
const follow = async (): Promise<OutputChunk[]> => {
  const chunks: OutputChunk[] = []
  for await (const chunk of client.follow(
    { vmId: 'vm', processId: 'p', stdoutOffset: 0, stderrOffset: 0 },
    new AbortController().signal,
  ))
    chunks.push(chunk)
  return chunks
}
const chunk = (offset: number, text: string): string =>
  `${JSON.stringify({ stream: 'stdout', offset, sizeBytes: text.length, text })}\n`
const ended = `${JSON.stringify({ ended: true, exitCode: 0, status: 'exited' })}\n`

test('a request waits for a worker that is not running yet', async () => {
  const answer = exec()
  await startWorker((response) => response.end(JSON.stringify(result)))
  expect(await answer).toEqual(result)
})

test('a request that was cut off by a worker’s death is sent to the next one with the same id', async () => {
  const cut = Promise.withResolvers<void>()
  await startWorker(() => cut.resolve())
  const answer = exec()
  await cut.promise
  await endWorker()
  await startWorker((response) => response.end(JSON.stringify(result)))
  expect(await answer).toEqual(result)
  expect(asked.map(({ name }) => name)).toEqual(['exec', 'exec'])
  expect(asked[0]?.body['requestId']).toMatch(/^[0-9a-f-]{36}$/)
  expect(asked[1]?.body).toEqual(asked[0]?.body)
})

test('an answer that was cut off in the middle is requested again', async () => {
  const cut = Promise.withResolvers<void>()
  await startWorker((response) => {
    response.writeHead(200, { 'content-length': 1000 }).write('{"stdout":')
    cut.resolve()
  })
  const answer = exec()
  await cut.promise
  await endWorker()
  await startWorker((response) => response.end(JSON.stringify(result)))
  expect(await answer).toEqual(result)
})

test('a request that kills every worker it reaches is given up', async () => {
  await startWorker((response) => response.destroy())
  await expect(exec()).rejects.toMatchObject({ code: 'vm_unreachable' })
  expect(asked.length).toBeLessThan(30)
})

test('a refusal is returned immediately, also that a VM is gone', async () => {
  await startWorker((response) =>
    response
      .writeHead(502)
      .end(JSON.stringify({ code: 'vm_unreachable', message: 'The VM does not answer right now.' })),
  )
  await expect(exec()).rejects.toMatchObject({ code: 'vm_unreachable', message: 'The VM does not answer right now.' })
  expect(asked).toHaveLength(1)
})

test(`without a worker the answer comes after ${limits.nodeWaitSeconds} s`, async () => {
  const begun = performance.now()
  await expect(exec()).rejects.toMatchObject({ code: 'vm_unreachable', details: { retryAfterSeconds: 3 } })
  expect(performance.now() - begun).toBeGreaterThanOrEqual(limits.nodeWaitSeconds * 1000)
}, 20_000)

test.each([
  ['dies', (response: ServerResponse) => void response.write(chunk(0, 'one\n'), () => response.socket?.destroy())],
  [
    'dies within a line',
    (response: ServerResponse) =>
      void response.write(`${chunk(0, 'one\n')}{"stream":`, () => response.socket?.destroy()),
  ],
  [
    'closes in the middle of its answer',
    (response: ServerResponse) => void response.write(chunk(0, 'one\n'), () => response.socket?.end()),
  ],
  ['stops', (response: ServerResponse) => void response.end(chunk(0, 'one\n'))],
  [
    'says that the machine is out of reach',
    (response: ServerResponse) =>
      void response.end(`${chunk(0, 'one\n')}{"code":"vm_unreachable","message":"away","isPassing":true}\n`),
  ],
])('who follows a process goes on from its offset when the worker %s', async (_, leave) => {
  await startWorker((response, { body }) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson', connection: 'close' }).flushHeaders() // as a worker that stops says
    if (asked.length === 1) leave(response)
    else response.end(chunk(Number(body['stdoutOffset']), 'two\n') + ended)
  })
  expect(await follow()).toMatchObject([{ offset: 0, text: 'one\n' }, { offset: 4, text: 'two\n' }, { ended: true }])
  expect(asked.map(({ body }) => body['stdoutOffset'])).toEqual([0, 4])
})

test('following an unknown process is refused', async () => {
  await startWorker((response) => response.end('{"code":"not_found","message":"no such process","isPassing":false}\n'))
  await expect(follow()).rejects.toMatchObject({ code: 'not_found' })
})
