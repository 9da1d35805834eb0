/** What the repository says about itself: no file cites a document that is not in it, and every link leads somewhere. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from './sources.ts'

type Text = { path: string; text: string }

/** Every file of ours that holds text: what git has, and what it would take up. */
const texts: Text[] = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && path !== 'package-lock.json' && existsSync(`${root}/${path}`))
  .map((path) => ({ path, text: readFileSync(`${root}/${path}`, 'utf8') }))
const documents = texts.filter(({ path }) => path.endsWith('.md'))

/** What the pattern finds, as `path:line: match`. */
function found(among: readonly Text[], pattern: RegExp): string[] {
  return among.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map((match) => `${path}:${text.slice(0, match.index).split('\n').length}: ${match[0]}`),
  )
}

describe('no file', () => {
  test('names a document that the repository does not hold', () => {
    expect(texts.length).toBeGreaterThan(500)
    const names = new Set(documents.map(({ path }) => basename(path)))
    const named = found(texts, /(?<![\w-])[\w-]+(?:\/[\w-]+)*\.md\b/g)
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((one) => !names.has(basename(one.split(': ')[1] ?? '')))).toEqual([])
  })

  test('cites a section of anything but a public standard', () => {
    expect(found(texts, /(?<!RFC \d+ |\b[\d.]+ and )\u00a7[^ ]*/g)).toEqual([])
  })

  test('names a goal by its number in a plan', () => {
    const code = texts.filter(({ path }) => path.endsWith('.ts'))
    expect(found(code, /\((?:[a-z]+\.md )?[RS]\d{1,2}\)/g)).toEqual([])
  })
})

test('a section that a comment names in a document is in it', () => {
  const cited = found(texts, /\b[\w/]+\.md,\s(?:\* )?"[^"]+"/g).map((one) => one.split(': ').slice(1).join(': '))
  expect(cited.length).toBeGreaterThan(0)
  const missing = cited.filter((one) => {
    const [, path = '', heading = ''] = /^(\S+\.md),[\s*]+"([^"]+)"$/.exec(one) ?? []
    const document = documents.find((each) => each.path === path)
    return !document || !headingsOf(document.text).includes(heading)
  })
  expect(missing).toEqual([])
})

/** The headings of a document, outside of its blocks of code. */
function headingsOf(text: string): string[] {
  return [...text.replaceAll(/^```[^]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)].map((match) => match[1] ?? '')
}
