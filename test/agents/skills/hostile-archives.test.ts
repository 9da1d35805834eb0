/** Archives that no honest program writes, and what is said of them. None of them needs a server. */
import { deflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readSkillFolder } from '#src/resources/agents/skills/folders.ts'
import { writeZip } from '#src/resources/agents/skills/zip.ts'
import { instructionsOf, zipOf, type Entry } from './zips.ts'

const instructions: Entry = { path: 'x/SKILL.md', content: instructionsOf('x') }
const folderOf = (archive: Buffer): ReturnType<typeof readSkillFolder> =>
  readSkillFolder([{ path: 'x.zip', bytes: archive }])
const withEntry = (entry: Entry): Buffer => zipOf([instructions, entry])
const zeros = Buffer.alloc(29 * 1024 * 1024)
const honest = zipOf([instructions, { path: 'x/a', content: 'a' }])
const emptyEnd = Buffer.alloc(22)
emptyEnd.write('PK\x05\x06', 'latin1')
emptyEnd.writeUInt32LE(honest.length, 16)
const withTwoEnds = Buffer.concat([honest, emptyEnd])
withTwoEnds.writeUInt16LE(emptyEnd.length, honest.length - 2)

test.each<[string, Buffer, RegExp]>([
  ['a path that leaves', withEntry({ path: 'x/../../a', content: 'a' }), /leaves/],
  ['an absolute path', withEntry({ path: '/etc/passwd', content: 'a' }), /absolute/],
  ['a drive', withEntry({ path: 'C:/a', content: 'a' }), /absolute/],
  ['a backslash', withEntry({ path: 'x\\..\\a', content: 'a' }), /backslash/],
  ['a part without a name', withEntry({ path: 'x//a', content: 'a' }), /without a name/],
  ['a dot', withEntry({ path: 'x/./a', content: 'a' }), /without a name/],
  ['a line break', withEntry({ path: 'x/a\nb', content: 'a' }), /cannot be seen/],
  ['a null', withEntry({ path: 'x/a\0.txt', content: 'a' }), /cannot be seen/],
  ['text from right to left', withEntry({ path: 'x/a\u202egnp.sh', content: 'a' }), /cannot be seen/],
  ['a long path', withEntry({ path: `x/${'a'.repeat(254)}`, content: 'a' }), /255 bytes/],
  ['a deep path', withEntry({ path: `x/${'a/'.repeat(16)}a`, content: 'a' }), /16 folders/],
  ['no UTF-8', withEntry({ path: Buffer.from([0x78, 0x2f, 0xff]), content: 'a' }), /not UTF-8/],
  ['a name twice', withEntry(instructions), /twice/],
  ['names that differ in case', withEntry({ path: 'x/skill.MD', content: 'a' }), /twice/],
  ['names that differ in their accents', zipOf([instructions, { path: 'x/é' }, { path: 'x/e\u0301' }]), /twice/],
  ['a symbolic link', withEntry({ path: 'x/a', content: '/etc/passwd', mode: 0o120777 }), /symbolic link/],
  ['a device', withEntry({ path: 'x/a', mode: 0o020666 }), /not an ordinary file/],
  ['a folder that is a file', withEntry({ path: 'x/a', mode: 0o040755 }), /not an ordinary file/],
  ['a folder with content', withEntry({ path: 'x/a/', mode: 0o040755, content: 'a' }), /not a whole zip/],
  ['encryption', withEntry({ path: 'x/a', content: 'a', flags: 0x801 }), /encrypted/],
  ['another method', withEntry({ path: 'x/a', content: 'a', method: 14 }), /method/],
  ['a zip inside', withEntry({ path: 'x/a.bin', content: honest }), /zip inside/],
  ['a wrong checksum', withEntry({ path: 'x/a', content: 'a', checksum: 1 }), /damaged/],
  ['no deflate', withEntry({ path: 'x/a', content: 'abc', packed: Buffer.from('abc') }), /damaged/],
  ['less than it says', withEntry({ path: 'x/a', content: 'a', unpackedBytes: 2 }), /damaged/],
  ['more than it says', withEntry({ path: 'x/a', unpackedBytes: 10, packed: deflateRawSync(zeros) }), /damaged/],
  ['much from little', withEntry({ path: 'x/a', content: zeros }), /100 times/],
  ['too much', zipOf([instructions, { path: 'x/a', content: zeros }, { path: 'x/b', content: zeros }]), /30 MiB/],
  ['too much, as it says', withEntry({ path: 'x/a', unpackedBytes: 0xfffffff0 }), /30 MiB/],
  ['Zip64 for one', withEntry({ path: 'x/a', unpackedBytes: 0xffffffff }), /not a whole zip/],
  ['many files', zipOf([instructions, ...Array.from({ length: 500 }, (_, at) => ({ path: `x/${at}` }))]), /500 files/],
  ['many entries', zipOf(Array.from({ length: 2001 }, (_, at) => ({ path: `x/${at}/` }))), /2000 entries/],
  ['two names for one file', withEntry({ path: 'x/a', content: 'a', localPath: 'x/b' }), /every program reads alike/],
  ['entries that overlap', zipOf([instructions, { path: 'x/a', headerOf: 0 }]), /every program reads alike/],
  ['a wrong count', zipOf([instructions], { count: 2 }), /every program reads alike/],
  ['a directory elsewhere', zipOf([instructions], { gap: 4 }), /every program reads alike/],
  ['something before it', Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), honest]), /every program reads alike/],
  ['something behind it', Buffer.concat([honest, Buffer.from('x')]), /every program reads alike/],
  ['a second end in its comment', withTwoEnds, /every program reads alike/],
  [
    'the beginning of an end in its comment',
    zipOf([instructions], { comment: 'PK\x05\x06' }),
    /every program reads alike/,
  ],
  ['its first half', honest.subarray(0, honest.length / 2), /not a whole zip/],
  ['four bytes', Buffer.from('PK\x03\x04', 'latin1'), /not a whole zip/],
  ['nothing in it', zipOf([]), /one folder/],
])('%s is refused', async (_, archive, sentence) => {
  await expect(folderOf(archive)).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringMatching(sentence),
  })
})

test('an archive with any byte changed is refused or has the same files, and never breaks anything', async () => {
  const expected = (await folderOf(honest)).files.map(({ bytes }) => bytes.toString('latin1'))
  for (let at = 0; at < honest.length; at++)
    for (const bit of [1, 0x80]) {
      const archive = Buffer.from(honest)
      archive[at] = (archive[at] ?? 0) ^ bit
      const read = await folderOf(archive).catch((error: { code?: string }) => error)
      if ('files' in read) expect(read.files.map(({ bytes }) => bytes.toString('latin1'))).toEqual(expected)
      else expect(read).toMatchObject({ code: 'invalid_request' })
    }
})

test('an archive that was written here is read again, with permissions', async () => {
  const files = [
    { path: 'x/SKILL.md', bytes: Buffer.from(instructionsOf('x')), isExecutable: false },
    { path: 'x/größe/run', bytes: Buffer.alloc(100_000, 'abcdefg'), isExecutable: true },
    { path: 'x/slides.pptx', bytes: honest, isExecutable: false },
  ]
  const archive = await writeZip(files)
  expect(await writeZip(files)).toEqual(archive)
  expect(await folderOf(archive)).toEqual({
    name: 'x',
    description: 'Says hello. Use it to greet people.',
    instructions: '# How\n\nRun hello.sh.',
    files: files.map((file) => ({ ...file, path: file.path.slice(2) })),
  })
})
