/** A file of a guest changes once all of it is there: what is cut on the way, and what takes too long, leaves it as it was. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeFile } from '#src/drivers/compute/guest/files.ts'
import type { Channel, Machine } from '#src/drivers/compute/machine.ts'
import { onThisHost } from '../../support/guests/host-guest.ts'

let folder: string
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'berth-writes-'))))
afterAll(() => rmSync(folder, { recursive: true }))

/** A guest that is this host, whose connections are changed by `spoil`. */
const guest = (spoil: (channel: Channel) => Channel = (channel) => channel): Machine =>
  ({ run: async (command: Parameters<Machine['run']>[0]) => spoil(onThisHost(command)) }) as unknown as Machine
const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** The last byte does not arrive. */
const cut = (channel: Channel): Channel => ({
  ...channel,
  stdin: new Writable({
    write(bytes: Buffer, _encoding, done) {
      channel.stdin.end(bytes.subarray(0, -1))
      done()
    },
  }),
})
/** Its command is killed at its time limit, as a guest does that has no time. */
const late = (channel: Channel): Channel => {
  channel.close()
  return { ...channel, stdin: new Writable({ write: (_bytes, _encoding, done) => done() }), exit: timedOut }
}
const timedOut = Promise.resolve({ exitCode: 124, timedOut: true })

test.each([
  ['is cut', cut],
  ['takes too long', late],
])('a write that %s leaves the file as it was, and is no fault of who asked', async (_what, spoil) => {
  const path = join(folder, 'kept')
  writeFileSync(path, 'as it was')
  await expect(writeFile(guest(spoil), path, base64('something else'))).rejects.toMatchObject({
    code: 'vm_unreachable',
    message: expect.stringContaining('does not answer right now'),
  })
  expect(readFileSync(path, 'utf8')).toBe('as it was')
})

test('a write makes the folders above, and replaces what was there, also with nothing', async () => {
  const path = join(folder, 'new/deep/file')
  for (const text of ['first, and longer', 'second', '']) {
    expect(await writeFile(guest(), path, base64(text))).toEqual({ sizeBytes: text.length })
    expect(readFileSync(path, 'utf8')).toBe(text)
  }
})
