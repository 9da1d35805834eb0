/** The nouns: none imports itself by way of others, so that they lie on levels; the documents have the picture of these. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { blankOut, importsOf, readSources, root, type Source } from './sources.ts'

const targets = importsOfNouns(readSources(['src/resources']))

test('no noun imports itself by way of others', () => {
  expect(targets.size).toBeGreaterThan(50)
  expect(knots(targets)).toEqual([])
})

test('the picture of the nouns in the documentation is drawn from the imports; if not, run: npm run nouns', async () => {
  const file = `${root}/docs/architecture.md`
  const [before = '', after = ''] = readFileSync(file, 'utf8').split(header)
  const rest = after.slice(after.indexOf('\n\n'))
  await expect(before + picture() + rest).toMatchFileSnapshot(file)
})

test('nouns that import each other by way of others are found, though their files do not', () => {
  const noun = (path: string, text: string): Source => ({
    path: `src/resources/infra/${path}`,
    text,
    code: blankOut(text),
  })
  const nouns = [
    noun('vms.ts', "import './domains/links.ts'\nimport '#src/platform/ids.ts'"),
    noun('vms/rows.ts', ''),
    noun('domains/links.ts', "import '../proxies.ts'"),
    noun('proxies.ts', "import './vms/rows.ts'\nimport './folders.ts'"),
    noun('folders.ts', ''),
  ]
  expect(knots(importsOfNouns(nouns))).toEqual(['infra/domains infra/proxies infra/vms'])
})

const groups = ['infra', 'agents', 'llm', 'identity'] as const
const header = `| level | ${groups.map((group) => `\`${group}\``).join(' | ')} |`

/** A row for each level: a noun lies one above the highest that it imports. */
function picture(): string {
  const levels = new Map<string, number>()
  const levelOf = (noun: string): number => {
    const known = levels.get(noun)
    if (known !== undefined) return known
    const level = Math.max(-1, ...[...(targets.get(noun) ?? [])].map(levelOf)) + 1
    levels.set(noun, level)
    return level
  }
  const byLevel = Map.groupBy([...targets.keys()].toSorted(), levelOf)
  const rows = [...byLevel].toSorted(([one], [other]) => other - one)
  const cell = (nouns: readonly string[], group: string): string =>
    nouns
      .filter((noun) => noun.startsWith(`${group}/`))
      .map((noun) => noun.slice(group.length + 1))
      .join(', ')
  return [
    header,
    `|${'---|'.repeat(groups.length + 1)}`,
    ...rows.map(([level, nouns]) => `| ${[level, ...groups.map((group) => cell(nouns, group))].join(' | ')} |`),
  ].join('\n')
}

/** The noun of a file: its group, and the name of its file or of the folder of what serves only that noun. */
function nounOf(path: string): string | undefined {
  return /^src\/resources\/([a-z]+\/[^/.]+)(?:\/|\.ts$)/.exec(path)?.[1]
}

/** Each noun with those that its files import. */
function importsOfNouns(files: readonly Source[]): Map<string, Set<string>> {
  const nouns = new Map<string, Set<string>>()
  for (const file of files) {
    const noun = nounOf(file.path)
    if (noun === undefined) continue
    const found = nouns.get(noun) ?? new Set()
    nouns.set(noun, found)
    for (const path of importsOf(file)) {
      const target = nounOf(path)
      if (target !== undefined && target !== noun) found.add(target)
    }
  }
  return nouns
}

/** Those that reach each other, each knot as one line. */
function knots(nouns: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const reached = new Map([...nouns.keys()].map((noun) => [noun, allReached(noun, nouns)]))
  const knotOf = (noun: string): string =>
    [...(reached.get(noun) ?? [])]
      .filter((other) => reached.get(other)?.has(noun))
      .toSorted()
      .join(' ')
  return [...new Set([...reached.keys()].map(knotOf).filter((knot) => knot !== ''))].toSorted()
}

/** All that it imports, also by way of others. */
function allReached(from: string, nouns: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const seen = new Set(nouns.get(from))
  for (const noun of seen) for (const target of nouns.get(noun) ?? []) seen.add(target) // a set grows while it is walked
  return seen
}
