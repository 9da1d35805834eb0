/** Settings are said once: the documentation's table is written from the table in the code. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig, ConfigError } from '#src/platform/config.ts'
import { settings, settingsTable } from '#src/platform/settings.ts'
import { root } from './sources.ts'

const header = '| name | default | what |'
const documents = ['README.md', ...readdirSync(`${root}/docs`).map((name) => `docs/${name}`)].filter(
  (path) => existsSync(`${root}/${path}`) && path.endsWith('.md'),
)

test('the table of settings in the documentation is the one in settings.ts; if not, run: npm run settings', async () => {
  const holding = documents.filter((path) => readFileSync(`${root}/${path}`, 'utf8').includes(header))
  expect(holding).toHaveLength(1)
  const file = `${root}/${holding[0]}`
  const toRoot = relative(dirname(file), root)
  const [before = '', after = ''] = readFileSync(file, 'utf8').split(header)
  const rest = after.slice(after.indexOf('\n\n'))
  await expect(before + settingsTable(toRoot === '' ? '' : `${toRoot}/`) + rest).toMatchFileSnapshot(file)
})

test('no two settings have one name, and each says what its text must be and what it is for', () => {
  const all = Object.values(settings)
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
  expect(all.length).toBeGreaterThan(40)
  expect(all.filter(({ what, shownDefault, reader }) => !what || !shownDefault || !reader.wanted)).toEqual([])
})

test('every wrong setting is named at once, with what it must be and without its value', () => {
  const wrong = Object.fromEntries(
    Object.values(settings)
      .filter(({ reader }) => !reader.kind.safeParse('\n').success)
      .map(({ name }) => [name, '\n']),
  )
  expect(Object.keys(wrong).length).toBeGreaterThan(30)
  const problems = problemsOf({ ...wrong, BERTH_PROT: '4000' })
  for (const { name, reader } of Object.values(settings))
    if (name in wrong) expect(problems).toContain(`${name} must be ${reader.wanted}.`)
  expect(problems).toContainEqual(expect.stringMatching(/^BERTH_PROT is not a setting of Berth/))
  expect(problems.join('')).not.toContain('\n')
})

test('defaults that follow from another setting follow from what was set', () => {
  expect(readConfig({ PORT: '5000' })).toMatchObject({
    publicUrl: 'http://localhost:5000',
    webMetricsPort: 15_000,
    workerMetricsPort: 25_000,
  })
  expect(readConfig({ PORT: '5000', BERTH_PUBLIC_URL: 'https://berth.example//' }).publicUrl).toBe(
    'https://berth.example',
  )
  expect(readConfig({}).localSignIn).toBe(true)
  expect(readConfig({ BERTH_HOST: '0.0.0.0' }).localSignIn).toBe(false)
  expect(readConfig({ BERTH_HOST: '0.0.0.0', BERTH_LOCAL_SIGN_IN: 'on' }).localSignIn).toBe(true)
})

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}
