/** Disks that a guest, or who broke out of its QEMU, has made into something else; and the users that machines get. No VM runs here. */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import {
  blockOptions,
  checkHeader,
  createOverlay,
  flatten,
  readBacking,
  type Image,
} from '#src/drivers/compute/qemu/disk-images.ts'
import { createMachineUsers, giveTo } from '#src/drivers/compute/qemu/machine-users.ts'
import { takenUids } from '#src/drivers/system-users.ts'
import { missingRequirements } from '#src/drivers/vm-requirements.ts'
import { isRoot } from '#src/platform/settings/places.ts'
import { readConfig } from '#src/platform/config.ts'

const sizeMb = 64
const folder = mkdtempSync(join(tmpdir(), 'berth-disks-'))
chmodSync(folder, 0o711)
const uid = isRoot() ? 1_900_070_000 : null // beside the range that machines have
const base: Image = { path: join(folder, 'base.img'), format: 'raw' }
const place = join(folder, 'disk.qcow2')
const disk: Image = { path: place, format: 'qcow2', below: base }
writeFileSync(base.path, Buffer.alloc(1024 * 1024, 'b'), { mode: 0o444 })
const image = (...args: string[]): void => void execFileSync('qemu-img', args, { stdio: ['ignore', 'ignore', 'pipe'] })

/** Makes the disk anew on the same image, with these options. */
const create = (...options: string[]): void =>
  image('create', '-f', 'qcow2', '-u', '-F', 'raw', '-b', base.path, ...options, place, `${sizeMb}M`)

/** To encrypt, qemu-img measures processor time, and fails when that clock did not move meanwhile: about once in 60. */
function createEncrypted(): void {
  const options = 'encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=10'
  for (let triesLeft = 9; ; triesLeft--) {
    try {
      return create('--object', 'secret,id=s,data=x', '-o', options)
    } catch (error) {
      if (triesLeft === 0 || !String(error).includes('Unable to get accurate CPU usage')) throw error
    }
  }
}

beforeEach(async () => {
  rmSync(place, { force: true })
  await createOverlay(uid, place, base, sizeMb)
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('a disk', () => {
  test('that is unchanged belongs to its user alone, and is copied completely', async () => {
    expect([statSync(place).mode & 0o777, statSync(place).uid]).toEqual([0o600, uid ?? process.getuid!()])
    expect(await readBacking(uid, place)).toBe(base.path)
    await checkHeader(uid, disk, sizeMb)
    const copy = join(folder, 'copy.qcow2')
    writeFileSync(copy, '')
    giveTo(uid, copy)
    await flatten(uid, disk, copy, sizeMb, null)
    image('compare', '-f', 'qcow2', '-F', 'qcow2', copy, place)
    expect(await readBacking(uid, copy)).toBe(undefined)
  })

  const faults: [what: string, change: () => void, words: RegExp][] = [
    [
      'lies on another file',
      () => image('rebase', '-u', '-f', 'qcow2', '-F', 'raw', '-b', '/etc/shadow', place),
      /the wrong backing file/,
    ],
    [
      'lies on the same file in another format',
      () => image('rebase', '-u', '-f', 'qcow2', '-F', 'qcow2', '-b', base.path, place),
      /the wrong backing file/,
    ],
    ['lies on nothing', () => image('create', '-f', 'qcow2', place, `${sizeMb}M`), /the wrong backing file/],
    [
      'keeps its data in another file',
      () => create('-o', `data_file=${join(folder, 'elsewhere')}`),
      /another file|Could not open/,
    ],
    ['is encrypted', createEncrypted, /encrypted|passphrase|secret/],
    ['is larger than it was', () => image('resize', '-f', 'qcow2', place, '1P'), /it is larger/],
    ['is no image at all', () => writeFileSync(place, 'x'.repeat(1000)), /not in qcow2 format/],
  ]
  test.each(faults)('that %s is refused', async (_what, change, words) => {
    change()
    giveTo(uid, place)
    await expect(checkHeader(uid, disk, sizeMb)).rejects.toThrow(words)
  })

  test.runIf(isRoot())('of another machine cannot be read, whatever a header names', async () => {
    const other = join(folder, 'other.qcow2')
    rmSync(other, { force: true })
    await createOverlay(1_900_070_001, other, base, sizeMb)
    const copy = join(folder, 'stolen.qcow2')
    writeFileSync(copy, '')
    giveTo(uid, copy)
    await expect(
      flatten(
        uid,
        { path: place, format: 'qcow2', below: { path: other, format: 'qcow2', below: base } },
        copy,
        sizeMb,
        null,
      ),
    ).rejects.toThrow(/Permission denied/)
  })

  test('is given to QEMU with every format named, down to the last', () => {
    expect(blockOptions({ path: '/a', format: 'qcow2', below: disk })).toEqual({
      driver: 'qcow2',
      file: { driver: 'file', filename: '/a' },
      backing: {
        driver: 'qcow2',
        file: { driver: 'file', filename: place },
        backing: { driver: 'raw', file: { driver: 'file', filename: base.path } },
      },
    })
    expect(blockOptions({ path: '/a', format: 'qcow2' })).toMatchObject({ backing: null })
  })
})

describe('users of machines', () => {
  const registry = join(folder, 'users')
  const range = { first: 1_900_080_000, last: 1_900_080_099 }
  const machine = (name: string): string => {
    const path = join(folder, 'machines', name)
    mkdirSync(path, { recursive: true })
    return path
  }

  test('are each held by one machine of one instance, until it is gone', () => {
    const [one, other] = [createMachineUsers(range, registry), createMachineUsers(range, registry)]
    const held = Array.from({ length: 100 }, (_, index) => (index % 2 ? one : other).take(machine(String(index))))
    expect(new Set(held).size).toBe(100)
    expect(() => one.take(machine('one more'))).toThrow(/all 100 users of BERTH_VM_UIDS are held/)
    other.free(held[1]!, machine('another’s'))
    expect(() => other.take(machine('one more'))).toThrow(/are held/)
    one.free(held[1]!, machine('1'))
    expect(other.take(machine('one more'))).toBe(held[1])
    expect(one.keep(held[2]!, machine('2'))).toBe(true)
    expect(one.keep(held[2]!, machine('3'))).toBe(false)
    expect(one.keep(range.last + 1, machine('3'))).toBe(false)
  })

  test('of a data folder that was removed are given to others, when no other is left', () => {
    rmSync(machine('50'), { recursive: true })
    const users = createMachineUsers(range, registry)
    const uid = users.take(machine('late'))
    expect(readFileSync(join(registry, String(uid)), 'utf8')).toBe(machine('late'))
    expect(existsSync(join(registry, String(uid)))).toBe(true)
  })

  test('are not those of people or containers of this host, which is said before a VM starts', () => {
    expect(takenUids({ first: 1, last: 10 })).toMatch(/\/etc\/passwd has some of them/)
    expect(takenUids({ first: 4_294_967_295, last: 4_294_967_295 })).toMatch(/does not have all these users/)
    expect(missingRequirements({ first: 0, last: 100 })?.sentence).toMatch(/Set BERTH_VM_UIDS to numbers that are free/)
    if (isRoot()) expect(takenUids(readConfig().vmUids!)).toBe(null)
    expect(() => readConfig({ BERTH_VM_UIDS: '5-900' })).toThrow(/BERTH_VM_UIDS must be a range/)
  })
})
