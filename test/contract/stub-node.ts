/** A node whose worker is this test: counts what it is asked, and can hold an answer back or refuse. Real nodes: *.vm.test.ts. */
import { createServer, type Server } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newUuid } from '#src/platform/ids.ts'
import { sql, type Db } from '#src/platform/postgres.ts'

/** A node. `asked` holds every operation's name and input, in order. */
export type StubNode = {
  id: string
  asked: { name: string; input: Record<string, unknown> }[]
  /** What exec prints, or a refusal as a worker sends it. */
  answer:
    | { stdout: string; stderr?: string; exitCode?: number; timedOut?: boolean }
    | { refuse: number; code: string; message?: string }
  /** From now on answers wait; call the returned function to let them go. */
  hold: () => () => void
  stop: () => Promise<void>
}

/** Starts one, with no memory for VMs of its own: VM rows are put on it. */
export async function startStubNode(db: Db): Promise<StubNode> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-stub-'))
  const socketPath = join(folder, 'node.sock')
  const node: StubNode = { id: newUuid(), asked: [], answer: { stdout: '' }, hold, stop }
  let gate: Promise<void> = Promise.resolve()
  const server: Server = createServer((request, response) => {
    let text = ''
    request
      .setEncoding('utf8')
      .on('data', (piece: string) => (text += piece))
      .on('end', () => {
        const { pathname, searchParams } = new URL(request.url ?? '/', 'http://node')
        const input = searchParams.get('request') ?? text // with a stream as its body, the input is in the URL
        node.asked.push({ name: pathname.slice(1), input: JSON.parse(input) as Record<string, unknown> })
        void gate.then(() => {
          const { answer } = node
          if ('refuse' in answer)
            response
              .writeHead(answer.refuse)
              .end(JSON.stringify({ code: answer.code, message: answer.message ?? 'refused by the test' }))
          else
            response
              .writeHead(200)
              .end(JSON.stringify({ stderr: '', exitCode: 0, timedOut: false, durationMs: 5, ...answer }))
        })
      })
  })
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  server.unref() // who never stops it is not kept by it
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await sql`insert into nodes (id, name, agent_url, acceleration, memory_mb) values (${node.id}, 'stub', ${`unix:${socketPath}`}, 'emulation', 0)`.execute(
    db,
  )
  return node

  function hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    return resolve
  }
  async function stop(): Promise<void> {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    rmSync(folder, { recursive: true, force: true })
  }
}
