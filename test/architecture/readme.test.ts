/** The README keeps its word: every setting, command and link in it is there, and every setting is in it. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { settingNames } from '#src/platform/config.ts'
import { root } from './sources.ts'

const readme = readFileSync(`${root}/README.md`, 'utf8')

test('the table of settings has every setting, and nothing else', () => {
  const section = /\n## Settings\n([^]*?)\n## /.exec(readme)?.[1] ?? ''
  const named = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`([A-Z0-9_]+)`/g)].map((match) => match[1] ?? ''))
  expect(named.toSorted()).toEqual(settingNames.toSorted())
})

test('every npm command in it exists', () => {
  const { scripts } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { scripts: Record<string, string> }
  const commands = [...readme.matchAll(/npm run (?:-s )?([a-z-]+)/g)].map((match) => match[1] ?? '')
  expect(commands.length).toBeGreaterThan(2)
  expect(commands.filter((name) => !(name in scripts))).toEqual([])
})

test('every file and folder that it names in a link or its map is there', () => {
  const linked = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map((match) => match[1] ?? '')
  const mapped = [...readme.matchAll(/`((?:src|schema|rest-compat|workers|test)\/[a-z0-9/.-]*)`/g)].map(
    (match) => match[1] ?? '',
  )
  expect(mapped.length).toBeGreaterThan(5)
  expect([...linked, ...mapped].filter((path) => !existsSync(`${root}/${path}`))).toEqual([])
})
