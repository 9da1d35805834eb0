/** No front matter of a SKILL.md, in any shape, holds the process that reads it. */
import { beforeAll, expect, test } from 'vitest'
import { readSkillFolder } from '#src/resources/agents/skills/folders.ts'
import { skillLimits } from '#src/resources/agents/skills/limits.ts'

const stallMsMax = 50
const tries = 8
const spare = 100
const characters = skillLimits.frontMatterCharacters - spare
const many = (piece: string): string => piece.repeat(Math.floor(characters / piece.length))
const each = (line: (key: string) => string): string =>
  Array.from({ length: 4000 }, (_, at) => line(at.toString(36)))
    .join('')
    .slice(0, characters)

function read(front: string): Promise<unknown> {
  return readSkillFolder([{ path: 'SKILL.md', bytes: Buffer.from(`---\n${front}\n---\n`) }])
}

/** The shortest time that this thread works on it: what always takes long is the text. Unit: ms. */
async function workMs(front: string): Promise<number> {
  let shortest = Infinity
  for (let time = 0; time < tries; time++) {
    const before = process.threadCpuUsage()
    await read(front).catch(() => undefined)
    const { user, system } = process.threadCpuUsage(before)
    shortest = Math.min(shortest, (user + system) / 1000)
  }
  return shortest
}

beforeAll(() => read('name: a\ndescription: b'))

test.each([
  ['one key again and again, in braces', `{${many('a,')}}`],
  ['keys in braces', `{${each((key) => `${key},`)}}`],
  ['keys', each((key) => `${key}:\n`).replace(/\n[^\n]*$/, '')],
  ['one key again and again', many('a:\n')],
  ['brackets', many('[')],
  ['braces', many('{')],
  ['questions', many('? ')],
  ['dashes', many('- ')],
  ['anchors', each((key) => `${key}: &${key}\n`)],
  ['aliases', `a: &a x\n${each((key) => `${key}: *a\n`)}`],
  ['anchors on one value', many('&a ')],
  ['aliases on one value', many('*a ')],
  ['merges', `a: &a {b: 1}\nc:\n${many('  <<: *a\n').slice(spare)}`],
  ['quotes', many('"')],
  ['backslashes', `a: "${many('\\')}"`],
  ['lines in quotes', `a: "${many('x\n ')}"`],
  ['lines of a block', `a: |\n${many(' x\n')}`],
  ['comments', many('#\n')],
  ['spaces', many(' ')],
  ['line ends', many('\n')],
  ['tabulators', many('\t')],
  ['tags', many('!!a ')],
  ['directives', many('%a\n')],
  ['colons', many(': ')],
  ['pairs', `[${many('a: b,')}]`],
])('%s', async (_shape, front) => {
  expect(await workMs(front)).toBeLessThanOrEqual(stallMsMax)
})

test('a key that is there twice is refused, at any depth', async () => {
  for (const twice of ['name: a\nname: b\ndescription: c', 'name: a\ndescription: b\nmore: {of: {a: 1, a: 2}}'])
    await expect(read(twice)).rejects.toThrow('is not YAML')
  await expect(read('name: a\ndescription: b\nmore: {of: {a: 1, b: 2}}')).resolves.toMatchObject({ name: 'a' })
})
