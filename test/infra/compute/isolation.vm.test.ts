/** What a QEMU that was broken out of finds: each machine’s user against everything that is not the machine’s own. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  createReadStream,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import { keptTemplatePlaces, machinePlaces, type Roots } from '#src/drivers/compute/places.ts'
import { readRecords, writeRecord } from '#src/drivers/compute/records.ts'
import { currentTemplate } from '#src/drivers/compute/templates.ts'
import { isRoot } from '#src/platform/settings/places.ts'
import { readConfig } from '#src/platform/config.ts'
import { newUuid } from '#src/platform/ids.ts'
import { bash, newSpec, startNode, type TestNode } from '../../support/compute.ts'
import { keptBytes } from '../../support/stalls/memory.ts'
import { until } from '../../support/until.ts'

const prepareLimitMs = 10 * 60_000
const [specA, specB] = [newSpec(), newSpec()]
let node: TestNode
let roots: Roots
let snapshot: string
let digestsBefore: Record<string, string>

beforeAll(async () => {
  node = await startNode(1)
  roots = { cacheDir: readConfig().cacheDir, dataDir: node.dataDir, runDir: join(node.dataDir, 'run') }
  // What lies in the data folder of a real instance beside machines.
  writeFileSync(join(node.dataDir, 'secret.key'), 'the key that seals everything', { mode: 0o600 })
  createAuthority(node.dataDir)
  await node.compute.take(specA)
  snapshot = dirname(node.record(specA.id).backing!)
  digestsBefore = await digests(snapshot)
  await node.compute.take(specB)
  node.compute.fillPool()
  await until('a machine is warm', () => node.compute.warm === 1)
}, prepareLimitMs)
afterAll(() => node.stop())

async function digests(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(folder)) {
    const hash = createHash('sha256')
    await pipeline(createReadStream(join(folder, name)), hash)
    found[name] = hash.digest('hex')
  }
  return found
}

async function pidOf(id: string): Promise<number> {
  return (await node.qemus()).get(node.record(id).machineUuid)!
}

/** Everything below a folder, links not followed. */
function everything(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => !lstatSync(path).isSymbolicLink())
}

/** Run as a machine’s user: which of these paths it can read, write (or, a folder, put a file into) and connect to. */
const intruder = `
const { accessSync, closeSync, openSync, readSync, lstatSync, writeFileSync } = require('node:fs')
const { connect } = require('node:net')
const can = (action) => { try { action(); return true } catch { return false } }
const tryAll = async (paths) => {
  const found = { read: [], written: [], connected: [] }
  for (const path of paths) {
    if (can(() => { const file = openSync(path, 'r'); try { readSync(file, Buffer.alloc(1), 0, 1, /mem$/.test(path) ? 4096 * 1024 : 0) } finally { closeSync(file) } })) found.read.push(path)
    if (can(() => closeSync(openSync(path, 'r+')))) found.written.push(path)
    if (can(() => writeFileSync(path + '/left-by-an-intruder', ''))) found.written.push(path)
    if (await new Promise((resolve) => { const socket = connect(path, () => { socket.destroy(); resolve(true) }); socket.on('error', () => resolve(false)) })) found.connected.push(path)
  }
  return found
}
tryAll(JSON.parse(require('node:fs').readFileSync(0, 'utf8'))).then((found) => process.stdout.write(JSON.stringify(found)))
`
type Found = Record<'read' | 'written' | 'connected', string[]>

function intrude(uid: number, paths: readonly string[]): Found {
  // This checkout may lie where other users cannot go.
  const program = join(node.dataDir, 'node')
  if (!existsSync(program)) {
    copyFileSync(process.execPath, program)
    chmodSync(program, 0o755)
  }
  const { status, stdout, stderr } = spawnSync(program, ['-e', intruder], {
    uid,
    gid: uid,
    cwd: '/',
    env: {},
    input: JSON.stringify(paths),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  expect([status, stderr]).toEqual([0, ''])
  return JSON.parse(stdout) as Found
}

describe.runIf(isRoot())('each machine of a node that runs as root', () => {
  test('has a QEMU with a user of its own, no groups, no capabilities, no way to get any, and filtered system calls', async () => {
    const { records } = readRecords(roots)
    const live = await node.qemus()
    expect(live.size).toBe(3)
    const { vmUids } = readConfig()
    const uids = records.map(({ machineUuid, uid }) => {
      const status = readFileSync(`/proc/${live.get(machineUuid)}/status`, 'utf8')
      const field = (name: string): string[] =>
        new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(status)![1]!.trim().split(/\s+/).filter(Boolean)
      expect(field('Uid')).toEqual(Array(4).fill(String(uid)))
      expect(field('Gid')).toEqual(Array(4).fill(String(uid)))
      expect([field('Groups'), field('NoNewPrivs'), field('Seccomp')]).toEqual([[], ['1'], ['2']])
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
        expect(field(set)).toEqual(['0000000000000000'])
      return uid!
    })
    expect(new Set(uids).size).toBe(3)
    for (const uid of uids) expect(uid >= vmUids!.first && uid <= vmUids!.last).toBe(true)
  })

  test('can write its two disks and nothing else, read no secret, and connect to no socket', async () => {
    const paths = [
      ...everything(node.dataDir),
      ...everything(snapshot),
      ...everything(currentTemplate(roots.cacheDir, 'base').places.folder),
    ]
    const { records } = readRecords(roots)
    const live = await node.qemus()
    for (const { uid, machineUuid, folderId } of records) {
      const processes = [...live].flatMap(([other, pid]) =>
        other === machineUuid
          ? []
          : [`/proc/${pid}/mem`, `/proc/${pid}/environ`, `/proc/${pid}/fd`, `/proc/${pid}/maps`],
      )
      const found = intrude(uid!, [...paths, ...processes, `/proc/${process.pid}/mem`, `/proc/${process.pid}/environ`])
      const own = [machinePlaces(roots, machineUuid).disk, join(node.dataDir, 'folders', `${folderId}.qcow2`)]
      expect(found.written.toSorted()).toEqual(own.toSorted())
      expect(found.connected).toEqual([])
      // What every tenant starts from is nobody's secret; the program that this test put there is none either.
      const secret = found.read.filter(
        (path) => !path.startsWith(`${roots.cacheDir}/`) && path !== join(node.dataDir, 'node'),
      )
      expect(secret.toSorted()).toEqual(own.toSorted())
    }
  })

  test('starts from a snapshot that is root’s, that nobody writes, and that is the same after machines have run', async () => {
    await bash(
      node.compute.find(specA.id)!,
      'dd if=/dev/zero of=~/workspace/some bs=1M count=20; head -c 20M /dev/urandom > ~/some; sync',
    )
    expect(await digests(snapshot)).toEqual(digestsBefore)
    for (const path of everything(snapshot)) {
      const { uid, gid, mode } = statSync(path)
      expect([path, uid, gid, (mode & 0o777).toString(8)]).toEqual([path, 0, 0, '444'])
    }
  }, 120_000)

  test('has open for writing only what is its own', async () => {
    const pid = await pidOf(specA.id)
    const folder = `/proc/${pid}/fd`
    const files = readdirSync(folder).map((name) => ({
      path: readlinkSync(join(folder, name)),
      flags: Number.parseInt(/^flags:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/${name}`, 'utf8'))![1]!, 8),
    }))
    const [accessMode, readOnly] = [3, 0]
    const writable = files
      .filter(
        ({ path, flags }) => path.startsWith('/') && !path.startsWith('/dev/') && (flags & accessMode) !== readOnly,
      )
      .map(({ path }) => path)
    const { machineUuid, folderId } = node.record(specA.id)
    expect([...new Set(writable)].toSorted()).toEqual(
      [machinePlaces(roots, machineUuid).disk, join(node.dataDir, 'folders', `${folderId}.qcow2`)].toSorted(),
    )
    expect(files.some(({ path }) => path === join(snapshot, 'memory'))).toBe(true)
  })

  test('that was made before each had a user gets one when it starts again', async () => {
    const spec = newSpec({ folder: 'none' })
    const { machine } = await node.compute.take(spec)
    await bash(machine, 'echo kept > ~/before; sync')
    await node.compute.stop(spec.id)
    const { uid, backing, ...older } = node.record(spec.id)
    writeRecord(roots, older)
    const former = 999
    chownSync(machinePlaces(roots, older.machineUuid).disk, former, former)
    const again = await node.compute.boot(spec)
    expect((await bash(again, 'cat ~/before')).stdout).toBe('kept\n')
    const record = node.record(spec.id)
    expect(typeof record.uid).toBe('number')
    expect(statSync(`/proc/${await pidOf(spec.id)}`).uid).toBe(record.uid)
    expect(backing).toContain('disk.qcow2')
    await node.compute.destroy(spec.id)
    expect(existsSync(`/var/lib/berth/vm-users/${record.uid}`)).toBe(false)
    expect(existsSync(`/var/lib/berth/vm-users/${node.record(specA.id).uid}`)).toBe(true)
    expect(uid).not.toBe(undefined)
  }, 180_000)
})

test('a folder’s disk belongs to its next machine alone, and a kept template can be read by its machines only', async () => {
  const first = newSpec()
  await bash((await node.compute.take(first)).machine, 'echo mine > ~/workspace/file; echo theirs > ~/file; sync')
  await node.compute.stop(first.id)
  const { folderId } = node.record(first.id)
  const templateId = newUuid()
  await node.compute.keepTemplate(first.id, templateId)
  await node.compute.destroy(first.id)
  const folderDisk = join(node.dataDir, 'folders', `${folderId}.qcow2`)
  const { disk } = keptTemplatePlaces(node.dataDir, templateId)
  const own = process.getuid!()
  expect([statSync(folderDisk), statSync(disk)].map(({ uid, mode }) => [uid, mode & 0o777])).toEqual([
    [own, 0o600],
    [own, 0o400],
  ])
  const second = newSpec({ template: { templateId }, folder: { folderId } })
  const { machine } = await node.compute.take(second)
  expect((await bash(machine, 'cat ~/workspace/file ~/file')).stdout).toBe('mine\ntheirs\n')
  expect(statSync(folderDisk).uid).toBe(node.record(second.id).uid ?? own)
  await node.compute.stop(second.id)
  const again = newUuid()
  await node.compute.keepTemplate(second.id, again) // a template of a template needs nothing of the first
  await node.compute.destroy(second.id)
  await node.compute.removeTemplate(templateId)
  const third = newSpec({ template: { templateId: again }, folder: 'none' })
  expect((await bash((await node.compute.take(third)).machine, 'cat ~/file')).stdout).toBe('theirs\n')
  await node.compute.destroy(third.id)
  await node.compute.removeTemplate(again)
}, 300_000)

test('a disk whose header was made to name another file is not kept as a template, and a start does not look there', async () => {
  const spec = newSpec({ folder: 'none' })
  await bash((await node.compute.take(spec)).machine, 'echo kept > ~/file; sync')
  await node.compute.stop(spec.id)
  const { disk } = machinePlaces(roots, node.record(spec.id).machineUuid)
  execFileSync('qemu-img', ['rebase', '-u', '-f', 'qcow2', '-F', 'raw', '-b', '/etc/shadow', disk])
  const templateId = newUuid()
  await expect(node.compute.keepTemplate(spec.id, templateId)).rejects.toThrow(/the wrong backing file/)
  expect(readdirSync(join(node.dataDir, 'templates'))).toEqual([])
  expect((await bash(await node.compute.boot(spec), 'cat ~/file')).stdout).toBe('kept\n')
  await node.compute.destroy(spec.id)
}, 180_000)

test('root in a guest that floods its console and its node is cut off, and another machine goes on answering', async () => {
  const [hostile, other] = [newSpec({ folder: 'none' }), node.compute.find(specB.id)!]
  const { machine } = await node.compute.take(hostile)
  const rounds = 15
  const measure = async (): Promise<number> => {
    const took: number[] = []
    for (let round = 0; round < rounds; round++) took.push((await bash(other, 'true')).durationMs)
    return took.toSorted((one, two) => one - two)[Math.floor(rounds / 2)]!
  }
  const before = await measure()
  const memoryBefore = await keptBytes()
  // From now on whoever connects gets what never ends, in place of SSH; and the connection that is there goes.
  const flood = `#!/bin/sh\nprintf 'SSH-2.0-flood\\r\\n'\nexec cat /dev/urandom\n`
  const script = `printf '%s' '${flood}' > /tmp/flood && chmod 755 /tmp/flood && mount --bind /tmp/flood /usr/sbin/dropbear
    setsid sh -c 'cat /dev/urandom > /dev/ttyS0' < /dev/null > /dev/null 2>&1 &
    pkill -9 dropbear`
  await bash(machine, script, { as: 'root' }).catch(() => undefined) // it ends its own connection
  await expect(bash(machine, 'true')).rejects.toMatchObject({ code: 'vm_unreachable' })
  const during = await measure()
  const grownBytesMax = 20 * 1024 ** 2
  expect((await keptBytes()) - memoryBefore).toBeLessThan(grownBytesMax)
  process.stdout.write(`another machine answers in ${before} ms, and in ${during} ms during the flood\n`)
  await node.compute.destroy(hostile.id)
}, 180_000)
