/** A port of a guest's loopback address that leads to this node, and the names that lead there. */
import { text } from 'node:stream/consumers'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nameLoopback } from '#src/drivers/compute/guest/hosts.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { bash, newSpec, startNode, type TestNode } from '../../support/compute.ts'
import { until } from '../../support/until.ts'

const prepareLimitMs = 10 * 60_000
const limitMs = 120_000
const spec = newSpec({ hostname: 'shop-1' })
let node: TestNode
let machine: Machine
beforeAll(async () => {
  node = await startNode(1)
  node.compute.fillPool()
  await until('a machine is warm', () => node.compute.warm === 1, prepareLimitMs)
  ;({ machine } = await node.compute.take(spec))
}, prepareLimitMs)
afterAll(() => node.stop())

const said: string[] = []
const take = (connection: Duplex): void => {
  connection.end('here\n')
  void text(connection).then((words) => said.push(words))
}
/** What a program in the guest hears there. */
const ask = async (host: string): Promise<string> =>
  (await bash(machine, `timeout 10 bash -c 'exec 3<>/dev/tcp/${host}/5432 && echo hello >&3 && cat <&3'`)).stdout

test(
  'a machine from the pool has the port and the names as soon as they are asked for, and had neither before',
  async () => {
    expect(await ask('127.0.0.1')).toBe('')
    machine.listen(5432, take)
    await nameLoopback(machine, 'shop-1', ['backend', 'prj-1'])
    const { stdout } = await bash(machine, 'cat /etc/hosts; getent ahostsv4 backend; getent ahostsv4 shop-1')
    expect(stdout).toMatch(/^127\.0\.1\.1 shop-1$/m)
    expect(stdout).toMatch(/^127\.0\.0\.1 +STREAM backend$/m)
    expect(await ask('backend')).toBe('here\n')
    expect(await ask('prj-1')).toBe('here\n')
    await until('both were heard', () => said.length === 2)
    expect(said).toEqual(['hello\n', 'hello\n'])
  },
  limitMs,
)

test(
  'names are replaced, and the guest’s own lines stay',
  async () => {
    await bash(machine, 'echo 10.1.1.1 mine >> /etc/hosts', { as: 'root' })
    await nameLoopback(machine, 'shop-1', ['orders'])
    const hosts = (await bash(machine, 'cat /etc/hosts')).stdout
    expect(hosts).toMatch(/^10\.1\.1\.1 mine$/m)
    expect(hosts).toMatch(/^127\.0\.0\.1 orders # /m)
    expect(hosts).not.toContain('backend')
    await nameLoopback(machine, 'shop-1', [])
    expect((await bash(machine, 'cat /etc/hosts')).stdout).toBe(
      '127.0.0.1 localhost\n127.0.1.1 shop-1\n::1 localhost\n10.1.1.1 mine\n',
    )
  },
  limitMs,
)

test(
  'the port is there again after a lost connection, and as soon as a program of the guest gives it back',
  async () => {
    await bash(machine, 'pkill -KILL dropbear', { as: 'root' }).catch(() => undefined) // its own connection goes too
    await until('it is there again', async () => (await ask('127.0.0.1')) === 'here\n', limitMs)
    ;[machine] = (await node.restart()) as [Machine]
    const server = `import socket,time
for family, address in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
  server = socket.socket(family); server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
  server.bind((address, 5432)); server.listen(); kept = globals().setdefault('kept', []); kept.append(server)
print('taken', flush=True); time.sleep(12345)`
    const holding = await machine.run({ argv: ['/usr/bin/python3', '-c', server], timeoutMs: limitMs })
    await new Promise((resolve) => holding.stdout.once('data', resolve))
    machine.listen(5432, take)
    const before = said.length
    expect((await bash(machine, `timeout 1 bash -c 'exec 3<>/dev/tcp/127.0.0.1/5432 && cat <&3'`)).stdout).toBe('')
    expect(said).toHaveLength(before)
    holding.close()
    await until('it is free', async () => (await ask('127.0.0.1')) === 'here\n', limitMs)
    expect(await ask('::1')).toBe('here\n')
  },
  2 * limitMs,
)

test(
  'a machine that was paused has the names still, and the port as soon as it is asked for',
  async () => {
    await nameLoopback(machine, 'shop-1', ['backend'])
    await node.compute.pause(spec.id)
    machine = await node.compute.resume(spec)
    machine.listen(5432, take)
    await until('it is there', async () => (await ask('backend')) === 'here\n', limitMs)
  },
  limitMs,
)
