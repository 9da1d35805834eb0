/** Terminals and files of VMs on the command line, behind a real agent whose machines are this host. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findAll, sql } from '#src/platform/postgres.ts'
import { decodeId, encodeId } from '#src/platform/ids.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { makeVmRow } from '../support/makers.ts'
import { startTerminalNode, type TerminalNode } from '../infra/terminals/clients.ts'
import { makePerson, type Person } from './command.ts'

/** What bash prints before its prompt, whoever it runs as: it reads what is typed. */
const prompted = '\u001b[?2004h'
let berth: Berth
let node: TerminalNode
let person: Person
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '100' } })
  const token = await berth.token()
  node = await startTerminalNode(berth.services)
  const id = await makeVmRow(berth.services.db, token, node.id)
  await sql`update vms set name = 'web' where id = ${decodeId('vm', id)}`.execute(berth.services.db)
  person = makePerson({ BERTH_URL: berth.url, BERTH_TOKEN: token })
})
afterAll(async () => {
  const opened = await findAll<{ id: string }>(berth.services.db, sql`select id from terminals`)
  await node.stop(opened.map(({ id }) => encodeId('terminal', id)))
  person.leave()
  await berth.stop()
})

test('ssh is a shell in the VM, which ends with its exit code', async () => {
  const shell = person.atTerminal(['vm', 'ssh', 'web'])
  await shell.printed(prompted)
  shell.type('echo $((40 + 2))-there; tty\r')
  await shell.printed('42-there')
  await shell.printed('/dev/pts/')
  shell.type('exit 7\r')
  expect((await shell.ended).exit).toBe(7)
})

test('ssh passes Ctrl-C on, goes on after the worker has started again, and is left by Enter ~ .', async () => {
  const shell = person.atTerminal(['vm', 'ssh', 'web', '--', 'bash', '--norc'])
  await shell.printed(prompted)
  shell.type('sleep 600\r')
  await shell.printed('sleep 600')
  shell.type('\u0003')
  await shell.printed(`\n${prompted}`) // bash drops what is typed before it asks again
  shell.type('echo interrupted-$?\r')
  await shell.printed('interrupted-130')
  await node.restart()
  shell.type('echo $((50 + 5))-again\r')
  await shell.printed('55-again')
  shell.type('\r~.')
  expect((await shell.ended).exit).toBe(130)
})

test('cp takes a file and a folder into the VM and back, whole', async () => {
  const here = (name: string): string => join(person.home, name)
  const there = (name: string): string => `web:${join(node.home, name)}`
  const bytes = Buffer.alloc(300_000, 'some bytes ')
  writeFileSync(here('one.bin'), bytes)
  expect(await person.run(['vm', 'cp', here('one.bin'), there('one.bin')])).toMatchObject({ exit: 0, out: '' })
  expect(readFileSync(join(node.home, 'one.bin')).equals(bytes)).toBe(true)
  expect(await person.run(['vm', 'cp', there('one.bin'), here('back.bin')])).toMatchObject({ exit: 0 })
  expect(readFileSync(here('back.bin')).equals(bytes)).toBe(true)
  mkdirSync(here('site/deep'), { recursive: true })
  writeFileSync(here('site/deep/page.html'), 'hello')
  expect(await person.run(['vm', 'cp', here('site'), there('site')])).toMatchObject({ exit: 0 })
  expect(readFileSync(join(node.home, 'site/deep/page.html'), 'utf8')).toBe('hello')
  expect(await person.run(['vm', 'cp', '-r', there('site'), here('again')])).toMatchObject({ exit: 0 })
  expect(readFileSync(here('again/deep/page.html'), 'utf8')).toBe('hello')
  expect(await person.run(['vm', 'cp', there('site'), here('flat')])).toMatchObject({
    exit: 2,
    err: expect.stringContaining('is a folder. Pass -r to copy it.'),
  })
  expect(await person.run(['vm', 'cp', here('one.bin'), there('site')])).toMatchObject({
    exit: 2,
    err: expect.stringContaining('is a folder. To copy into it, end it with a slash.'),
  })
  expect((await person.run(['vm', 'cp', there('nothing'), here('x')])).exit).toBe(4)
  expect((await person.run(['vm', 'cp', here('nothing'), there('x')])).exit).toBe(2)
  expect((await person.run(['vm', 'cp', here('one.bin'), here('two.bin')])).exit).toBe(2)
})

test('a folder of a VM is copied to a new folder only, so no link of an earlier copy leads out of it, and without setuid', async () => {
  const here = (name: string): string => join(person.home, name)
  const there = `web:${join(node.home, 'forged')}`
  mkdirSync(here('own'))
  mkdirSync(join(node.home, 'forged'))
  symlinkSync(here('own'), join(node.home, 'forged/x'))
  writeFileSync(join(node.home, 'forged/tool'), 'a program')
  chmodSync(join(node.home, 'forged/tool'), 0o4755)
  expect(await person.run(['vm', 'cp', '-r', there, here('taken')])).toMatchObject({ exit: 0 })
  expect(statSync(here('taken/tool')).mode & 0o7111).toBe(0o111)
  rmSync(join(node.home, 'forged/x'))
  mkdirSync(join(node.home, 'forged/x'))
  writeFileSync(join(node.home, 'forged/x/authorized_keys'), 'a key')
  const again = await person.run(['vm', 'cp', '-r', there, here('taken')])
  expect(again).toMatchObject({ exit: 2, err: expect.stringContaining('exists') })
  expect(await person.run(['vm', 'cp', '-r', there, `${here('taken')}/`])).toMatchObject({ exit: 0 })
  expect(readFileSync(here('taken/forged/x/authorized_keys'), 'utf8')).toBe('a key')
  expect(existsSync(here('own/authorized_keys'))).toBe(false)
  expect(readdirSync(here('taken')).sort()).toEqual(['forged', 'tool', 'x'])
})

test('what cannot be read to its end says so, and nothing of it looks whole in the VM', async () => {
  const here = (name: string): string => join(person.home, name)
  const there = (name: string): string => `web:${join(node.home, name)}`
  // Reading this file of Linux works for whoever opens it, and fails from its first byte on.
  const broken = await person.run(['vm', 'cp', '/proc/self/mem', there('memory')])
  expect(broken).toMatchObject({
    exit: 1,
    out: '',
    err: expect.stringMatching(/^berth: \/proc\/self\/mem cannot be read: EIO.*\n$/),
  })
  expect(existsSync(join(node.home, 'memory'))).toBe(false)
  mkdirSync(here('programs'))
  writeFileSync(here('programs/tar'), '#!/bin/sh\n/bin/tar "$@"\nexit 2\n', { mode: 0o755 }) // as for a file without permission
  mkdirSync(here('partial'))
  writeFileSync(here('partial/page.html'), 'hello')
  const PATH = `${here('programs')}:/usr/bin:/bin`
  const partial = await person.run(['vm', 'cp', here('partial'), there('partial')], '', { PATH })
  expect(partial).toMatchObject({ exit: 1, err: 'berth: tar failed; what it said is above.\n' })
  expect(existsSync(join(node.home, 'partial/page.html'))).toBe(false)
  mkdirSync(join(node.home, 'whole'))
  const unpacked = await person.run(['vm', 'cp', '-r', there('whole'), here('unpacked')], '', { PATH: here('nothing') })
  expect(unpacked).toMatchObject({ exit: 1, err: expect.stringMatching(/^berth: tar does not run: .*\n$/) })
  expect(readdirSync(person.home).filter((name) => name.includes('unpacked'))).toEqual([])
})

test('a file is not printed at a terminal, and is in a pipe', async () => {
  writeFileSync(join(node.home, 'loud'), 'title\u001b]0;mine\u0007')
  const words = ['vm', 'cp', `web:${join(node.home, 'loud')}`, '-']
  const shown = await person.atTerminal(words).ended
  expect(shown).toMatchObject({ exit: 2, out: expect.stringContaining('- > file') })
  expect(shown.out).not.toContain('\u001b]0')
  expect((await person.run(words)).out).toBe('title\u001b]0;mine\u0007')
})

test('a device is written to and not replaced, and a disk without room is said', async () => {
  writeFileSync(join(node.home, 'large'), Buffer.alloc(100_000, 'x'))
  const words = ['vm', 'cp', `web:${join(node.home, 'large')}`]
  const full = await person.run([...words, '/dev/full'])
  expect(full).toMatchObject({
    exit: 1,
    out: '',
    err: expect.stringMatching(/^berth: \/dev\/full cannot be written: ENOSPC/),
  })
  expect((await person.run([...words, '/dev/null'])).exit).toBe(0)
  for (const device of ['/dev/full', '/dev/null']) {
    expect(statSync(device).isCharacterDevice()).toBe(true)
    expect(existsSync(`${device}.berth-part`)).toBe(false)
  }
})
