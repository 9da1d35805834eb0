/** What is deleted by itself is said once: the table in the documentation is written from what nouns declare. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { cronOf } from '#src/platform/jobs/upkeep.ts'
import { nodeUpkeep, retention, upkeep } from '#src/resources/upkeep.ts'
import { productFolders, readSources, root } from '../sources.ts'

const header = '| what goes by itself | when |'
const file = `${root}/docs/limits.md`

test('the table of what goes by itself is the one that nouns declare; if not, run: npm run sizes', async () => {
  const [before = '', after = ''] = readFileSync(file, 'utf8').split(header)
  const rows = retention.map(({ what, until }) => `| ${what} | ${until.replaceAll(/\B(?=(\d{3})+\b)/g, ',')} |`)
  const table = [header, '|---|---|', ...rows].join('\n')
  await expect(before + table + after.slice(after.indexOf('\n\n'))).toMatchFileSnapshot(file)
})

test('what a noun declares is listed, and nothing twice', () => {
  const declared = readSources(productFolders).flatMap(({ path, text }) =>
    [...text.matchAll(/^export const (\w+): readonly (?:Upkeep|NodeUpkeep|Retention)\[\]/gm)].map(([, name = '']) => ({
      path,
      name,
    })),
  )
  const list = declared.filter(({ path }) => path === 'src/resources/upkeep.ts')
  expect(list.map(({ name }) => name)).toEqual(['upkeep', 'nodeUpkeep', 'retention'])
  const registry = readFileSync(`${root}/src/resources/upkeep.ts`, 'utf8')
  const missing = declared.filter((one) => !list.includes(one) && !registry.includes(`  ...${one.name},`))
  expect(missing).toEqual([])
  const doings = [...upkeep, ...nodeUpkeep].map(({ doing }) => doing)
  expect(doings).toHaveLength(new Set(doings).size)
})

test.each([
  [1, '*/1 * * * * *'],
  [20, '*/20 * * * * *'],
  [60, '* * * * *'],
  ['7 * * * *', '7 * * * *'],
] as const)('every %s is the cron expression %s', (every, cron) => {
  expect(cronOf(every)).toBe(cron)
})

test('an interval divides a minute, so that all are alike', () => {
  const intervals = [...upkeep, ...nodeUpkeep].flatMap(({ every }) => (typeof every === 'number' ? [every] : []))
  expect(intervals.length).toBeGreaterThan(15)
  expect(intervals.filter((seconds) => seconds < 1 || 60 % seconds !== 0)).toEqual([])
})
