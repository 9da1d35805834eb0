/** The README keeps its word: every command and link in it is there. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { root } from './sources.ts'

const readme = readFileSync(`${root}/README.md`, 'utf8')

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
