/** The QEMU driver with real machines: how they start, what they are, how they end. */
import { readdirSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { execInGuest } from '#src/drivers/compute/guest/exec.ts'
import { pushEnv } from '#src/drivers/compute/guest/env.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { writeRecord } from '#src/drivers/compute/records.ts'
import { bash, newSpec, startNode, type TestNode } from '../support/compute.ts'
import { until } from '../support/until.ts'

const prepareLimitMs = 10 * 60_000

let node: TestNode
beforeAll(async () => {
  node = await startNode(0)
}, prepareLimitMs)
afterAll(() => node.stop())

describe('a new machine', () => {
  const spec = newSpec({ hostname: 'first' })
  let machine: Machine
  beforeAll(async () => {
    ;({ machine } = await node.compute.take(spec))
  })
  afterAll(() => node.compute.destroy(spec.id))

  test('is restored from the snapshot, and requested twice it is the same one', async () => {
    expect(await node.compute.take(spec)).toMatchObject({ from: 'existing' })
    const other = newSpec()
    expect((await node.compute.take(other)).from).toBe('snapshot')
    await node.compute.destroy(other.id)
  })

  test('has its own name, clock and workspace, and user may become root', async () => {
    const before = Date.now()
    const { stdout } = await bash(
      machine,
      'hostname; date +%s; stat -c %U:%a ~/workspace; findmnt -no FSTYPE ~/workspace; id -un; sudo -n id -un; pwd',
    )
    const [hostname, seconds, workspace, type, user, root, folder] = stdout.trim().split('\n')
    expect([hostname, workspace, type, user, root, folder]).toEqual([
      'first',
      'user:755',
      'ext4',
      'user',
      'root',
      '/home/user',
    ])
    expect(Math.abs(Number(seconds) * 1000 - before)).toBeLessThan(5_000)
  })

  test('is unique: its host key, machine id and random numbers differ from another’s', async () => {
    const other = newSpec()
    const twin = (await node.compute.take(other)).machine
    const look = 'cat /etc/machine-id; head -c 16 /dev/urandom | od -An -tx1; sudo sha256sum /run/berth/hostkey'
    const [mine, its] = [await bash(machine, look), await bash(twin, look)]
    const lines = (text: string): string[] => text.trim().split('\n')
    expect(lines(mine.stdout)).toHaveLength(3)
    lines(mine.stdout).forEach((line, index) => expect(line).not.toBe(lines(its.stdout)[index]))
    expect(twin.address).not.toBe(machine.address)
    await node.compute.destroy(other.id)
  })

  test('has an SSH server that only we get into', async () => {
    const { port } = node.record(spec.id)
    const banner = await new Promise<string>((resolve, reject) => {
      const socket = connect(port, machine.address)
      socket.once('error', reject)
      socket.once('data', (data) => {
        resolve(String(data))
        socket.destroy()
      })
    })
    expect(banner).toMatch(/^SSH-2\.0-/)
    expect((await bash(machine, 'cat /run/berth/ssh/authorized_keys; cat /run/berth/hostkey')).exitCode).not.toBe(0)
  })

  test('reaches nothing but its proxy, and what it sends there comes to us with its id', async () => {
    const seen: string[] = []
    node.egress = (id, connection) => {
      seen.push(id)
      connection.on('data', () => connection.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi'))
    }
    const { stdout } = await bash(
      machine,
      'curl -s http://example.test/; echo; curl -s -m 2 --noproxy "*" http://10.0.2.2:22/; echo $?; curl -s -m 2 --noproxy "*" http://192.0.2.1/; echo $?',
    )
    const [answer, host, elsewhere] = stdout.trim().split('\n')
    expect(answer).toBe('hi')
    expect(Number(host)).not.toBe(0)
    expect(Number(elsewhere)).not.toBe(0)
    expect(seen).toEqual([spec.id])
  })

  test('runs Python, JavaScript, TypeScript, Ruby and Go', async () => {
    await bash(
      machine,
      'echo \'const n: number = 41; console.log(n + 1)\' > a.ts; echo \'package main; import "fmt"; func main() { fmt.Println(42) }\' | sed "s/; /\\n/g" > a.go',
    )
    const commands = [
      "python3 -c 'print(42)'",
      "node -e 'console.log(42)'",
      'node a.ts',
      "ruby -e 'puts 42'",
      'go run a.go',
    ]
    for (const line of commands)
      expect(await bash(machine, line, { timeoutMs: 60_000 }), line).toMatchObject({ stdout: '42\n', exitCode: 0 })
  }, 90_000)

  test('gives commands the variables that were pushed, exactly', async () => {
    await pushEnv(machine, { PLAIN: 'x', ODD: `a'b"c$d\ne=\\f ü` })
    expect((await bash(machine, 'printf %s "$ODD"')).stdout).toBe(`a'b"c$d\ne=\\f ü`)
    await pushEnv(machine, { PLAIN: 'y' })
    expect((await bash(machine, 'echo "$PLAIN-$ODD-"')).stdout).toBe('y--\n')
    await pushEnv(machine, {})
    expect((await bash(machine, 'echo "$PLAIN-"; ls /run/berth/env')).stdout).toBe('-\n')
  })

  test('is closed to the other users of the host: its keys, its disk and its sockets', () => {
    const { machineUuid, folderId } = node.record(spec.id)
    const openToOthers = (...path: string[]): boolean => (statSync(join(node.dataDir, ...path)).mode & 0o007) !== 0
    expect(openToOthers('machines', machineUuid, 'machine.json')).toBe(false)
    expect(openToOthers('machines', machineUuid, 'disk.qcow2')).toBe(false)
    expect(openToOthers('folders', `${folderId}.qcow2`)).toBe(false)
    for (const socket of readdirSync(join(node.dataDir, 'run', 'vms')))
      expect(statSync(join(node.dataDir, 'run', 'vms', socket)).mode & 0o077).toBe(0)
  })
})

test('a machine has a lower priority than the processes of the host, with all its threads', async () => {
  const spec = newSpec({ folder: 'none' })
  await node.compute.take(spec)
  const [pid] = [...(await node.qemus()).values()]
  const niceness = readdirSync(`/proc/${pid}/task`).map((thread) => getPriority(Number(thread)))
  expect(niceness.length).toBeGreaterThan(1)
  expect(new Set(niceness)).toEqual(new Set([15]))
  await node.compute.destroy(spec.id)
}, 90_000)

describe('the size of a machine', () => {
  test('is the requested one: processors, memory and a larger disk', async () => {
    const spec = newSpec({ vcpuCount: 1, memoryMb: 512, diskMb: 12_288, folder: 'none' })
    const { machine } = await node.compute.take(spec)
    const { stdout } = await bash(
      machine,
      "nproc; awk '/MemTotal/{print $2}' /proc/meminfo; df -BM --output=size / | tail -1; findmnt ~/workspace",
    )
    const [processors, memoryKb, disk, workspace] = stdout.trim().split('\n')
    expect(processors).toBe('1')
    expect(Number(memoryKb) / 1024).toBeGreaterThan(400)
    expect(Number(memoryKb) / 1024).toBeLessThan(512)
    expect(Number.parseInt(disk!, 10)).toBeGreaterThan(11_500)
    expect(workspace).toBeUndefined()
    expect(machine.folderId).toBeNull()
    await node.compute.destroy(spec.id)
  }, 90_000)
})

describe('a machine’s end', () => {
  test('stopped and started again it has its disk, its workspace and its name, but not the variables', async () => {
    const spec = newSpec({ hostname: 'stays' })
    const { machine } = await node.compute.take(spec)
    await pushEnv(machine, { A: '1' })
    await bash(machine, 'echo disk > ~/a; echo folder > ~/workspace/b; sleep 1000 &')
    await node.compute.stop(spec.id)
    expect(node.compute.find(spec.id)).toBeUndefined()
    expect(await node.compute.residents()).toMatchObject([
      { id: spec.id, live: false, paused: false, folderId: machine.folderId },
    ])
    const again = await node.compute.boot(spec)
    expect((await bash(again, 'cat ~/a ~/workspace/b; hostname; echo "$A-"')).stdout).toBe('disk\nfolder\nstays\n-\n')
    expect(node.ended).toEqual([])
    await node.compute.destroy(spec.id)
    expect((await node.qemus()).size).toBe(0)
  }, 60_000)

  test('its folder goes on to the next machine, and a machine destroyed leaves nothing else', async () => {
    const [first, second] = [newSpec(), newSpec()]
    const { machine } = await node.compute.take(first)
    await bash(machine, 'echo kept > ~/workspace/note')
    const folderId = machine.folderId!
    const others = readdirSync(join(node.dataDir, 'folders')).filter((name) => name !== `${folderId}.qcow2`)
    await node.compute.stop(first.id)
    await node.compute.destroy(first.id)
    await node.compute.destroy(first.id)
    expect(readdirSync(join(node.dataDir, 'machines'))).toEqual([])
    expect(readdirSync(join(node.dataDir, 'folders'))).toEqual([...others, `${folderId}.qcow2`])
    const next = (await node.compute.take({ ...second, folder: { folderId } })).machine
    expect((await bash(next, 'cat ~/workspace/note')).stdout).toBe('kept\n')
    await node.compute.destroy(second.id)
    await node.compute.removeFolder(folderId)
    expect(readdirSync(join(node.dataDir, 'folders'))).toEqual(others)
  }, 60_000)

  test('killed from outside it is reported as lost within 2 s, and boots again from what it had flushed', async () => {
    const spec = newSpec()
    const { machine } = await node.compute.take(spec)
    await bash(machine, 'echo flushed > ~/a; sync')
    const pid = [...(await node.qemus()).values()][0]!
    process.kill(pid, 'SIGKILL')
    await until('the loss is told', () => node.ended.length > 0, 2_000)
    expect(node.ended.splice(0)).toEqual([{ id: spec.id, how: 'lost' }])
    await expect(bash(machine, 'true')).rejects.toMatchObject({ code: 'vm_unreachable' })
    const { machine: again, from } = await node.compute.take(spec)
    expect(from).toBe('boot')
    expect((await bash(again, 'cat ~/a')).stdout).toBe('flushed\n')
    await node.compute.destroy(spec.id)
  }, 60_000)

  test('powered off inside it is reported as ended by the guest', async () => {
    const spec = newSpec()
    const { machine } = await node.compute.take(spec)
    await bash(machine, 'sudo poweroff; sleep 20').catch(() => undefined)
    await until('the end is told', () => node.ended.length > 0)
    expect(node.ended.splice(0)).toEqual([{ id: spec.id, how: 'guest' }])
    await node.compute.destroy(spec.id)
  })

  test('paused and resumed it continues exactly where it was, once', async () => {
    const spec = newSpec()
    const { machine } = await node.compute.take(spec)
    await pushEnv(machine, { A: 'still' })
    await bash(
      machine,
      'nohup bash -c "echo start > ~/log; i=0; while true; do sleep 0.2; i=\\$((i+1)); echo \\$i > ~/count; done" > /dev/null 2>&1 &',
    )
    await until('it counts', async () => (await bash(machine, 'cat ~/count')).exitCode === 0)
    await node.compute.pause(spec.id)
    expect((await node.qemus()).size).toBe(0)
    expect(await node.compute.residents()).toMatchObject([{ id: spec.id, live: false, paused: true }])
    const again = await node.compute.resume(spec)
    const before = Number((await bash(again, 'cat ~/count')).stdout)
    await until('it counts on', async () => Number((await bash(again, 'cat ~/count')).stdout) > before)
    expect((await bash(again, 'echo "$A"; cat ~/log')).stdout).toBe('still\nstart\n')
    const seconds = Number((await bash(again, 'date +%s')).stdout)
    expect(Math.abs(seconds * 1000 - Date.now())).toBeLessThan(5_000)
    await node.compute.stop(spec.id)
    await expect(node.compute.resume(spec)).rejects.toMatchObject({ code: 'invalid_transition' })
    await node.compute.destroy(spec.id)
    expect(node.ended).toEqual([])
  }, 60_000)

  test('a machine that was booted after its pause cannot be resumed to an older memory', async () => {
    const spec = newSpec()
    await node.compute.take(spec)
    await node.compute.pause(spec.id)
    await node.compute.boot(spec)
    await node.compute.stop(spec.id)
    await expect(node.compute.resume(spec)).rejects.toMatchObject({ code: 'invalid_transition' })
    await node.compute.destroy(spec.id)
  }, 60_000)
})

describe('a worker that is killed', () => {
  test('finds its machines again, with their processes and their egress, and kills orphaned ones', async () => {
    const spec = newSpec()
    const { machine } = await node.compute.take(spec)
    await bash(machine, 'nohup sleep 1000 > /dev/null 2>&1 & echo $! > ~/pid')
    const adopted = await node.restart()
    expect(adopted.map(({ id }) => id)).toEqual([spec.id])
    const again = node.compute.find(spec.id)!
    expect(again.address).toBe(machine.address)
    expect((await bash(again, 'kill -0 $(cat ~/pid) && hostname')).stdout).toBe('tester\n')
    node.egress = (_id, connection) =>
      void connection.on('data', () => connection.end('HTTP/1.1 204 No\r\nConnection: close\r\n\r\n'))
    expect((await bash(again, 'curl -s -o /dev/null -w "%{http_code}" http://example.test/')).stdout).toBe('204')
    await node.compute.destroy(spec.id)
    expect((await node.qemus()).size).toBe(0)
  })

  test('does not adopt a machine that was half started, and starts it again from its disk', async () => {
    const spec = newSpec()
    const { machine } = await node.compute.take(spec)
    await bash(machine, 'echo kept > ~/a; sync')
    writeRecord({ cacheDir: '', dataDir: node.dataDir, runDir: '' }, { ...node.record(spec.id), reached: false })
    expect(await node.restart()).toEqual([])
    expect((await node.qemus()).size).toBe(0)
    expect(await node.compute.residents()).toMatchObject([{ id: spec.id, live: false }])
    const again = await node.compute.boot(spec)
    expect((await bash(again, 'cat ~/a')).stdout).toBe('kept\n')
    await node.compute.destroy(spec.id)
  }, 60_000)

  test('without a connection, the next command makes a new one', async () => {
    const spec = newSpec()
    const { machine } = await node.compute.take(spec)
    await bash(machine, 'sudo pkill -9 dropbear').catch(() => undefined) // it kills the connection that it runs over
    expect((await bash(machine, 'echo back')).stdout).toBe('back\n')
    await node.compute.destroy(spec.id)
  })
})

describe('limits', () => {
  test('a fork bomb and a full disk leave root’s access intact, and stop still works', async () => {
    const spec = newSpec()
    const { machine } = await node.compute.take(spec)
    await bash(machine, 'nohup bash -c ":(){ :|:& };:" > /dev/null 2>&1 &')
    await bash(
      machine,
      'dd if=/dev/zero of=~/workspace/fill bs=1M count=20 2> /dev/null; fallocate -l 20G ~/fill || dd if=/dev/zero of=~/fill bs=4M 2> /dev/null; true',
      { timeoutMs: 15_000 },
    )
    const root = await execInGuest(machine, {
      argv: ['/bin/cat', '/sys/fs/cgroup/user/pids.max'],
      as: 'root',
      timeoutMs: 20_000,
    })
    expect(root).toMatchObject({ exitCode: 0, timedOut: false })
    await node.compute.stop(spec.id)
    await node.compute.destroy(spec.id)
    expect((await node.qemus()).size).toBe(0)
  }, 90_000)
})
