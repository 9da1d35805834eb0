/**
 * What the repository says about itself holds: no file cites a document that is not in it, every link and anchor leads
 * somewhere, every file, command and GraphQL operation that a document names is there.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, posix } from 'node:path'
import { buildSchema, NoDeprecatedCustomRule, parse, specifiedRules, validate } from 'graphql'
import { describe, expect, test } from 'vitest'
import { errorStatuses } from '#src/platform/errors.ts'
import { root } from './sources.ts'

const pageLinesMax = 400

type Text = { path: string; text: string }

/** Every file of ours that holds text: what git has, and what it would take up. */
const texts: Text[] = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter(
    (path) => path !== '' && path !== 'package-lock.json' && !path.endsWith('.png') && existsSync(`${root}/${path}`),
  )
  .map((path) => ({ path, text: readFileSync(`${root}/${path}`, 'utf8') }))
const documents = texts.filter(({ path }) => path.endsWith('.md'))

/** What the pattern finds, as `path:line: match`. */
function found(among: readonly Text[], pattern: RegExp): string[] {
  return among.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map((match) => `${path}:${text.slice(0, match.index).split('\n').length}: ${match[0]}`),
  )
}

/** The headings of a document, outside of its blocks of code. */
function headingsOf(text: string): string[] {
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map((match) => match[1] ?? '')
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[^]*?^```/gm, (block) => block.replaceAll(/[^\n]/g, ''))
}

/** The blocks of code of a language, from all documents. */
function blocks(language: string): Text[] {
  return documents.flatMap(({ path, text }) =>
    [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map((match) => ({
      path,
      text: match[1] ?? '',
    })),
  )
}

describe('no file', () => {
  test('names a document that the repository does not hold', () => {
    expect(texts.length).toBeGreaterThan(500)
    const names = new Set([...documents.map(({ path }) => basename(path)), 'SKILL.md']) // what a skill has
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

test('a section that the code names in a document is in it', () => {
  const code = texts.filter(({ path }) => !path.endsWith('.md'))
  const cited = code.flatMap(({ text }) => [
    ...[...text.matchAll(/\b([\w/]+\.md),[\s*]+"([^"\n]+)"/g)].map((match) => [match[1], match[2]] as const),
    ...[...text.matchAll(/"([^"\n]+)" in ([\w/]+\.md)\b/g)].map((match) => [match[2], match[1]] as const),
  ])
  expect(cited.length).toBeGreaterThan(3)
  const missing = cited.filter(([path, heading = '']) => {
    const document = documents.find((each) => each.path === path)
    return !document || !headingsOf(document.text).includes(heading)
  })
  expect(missing).toEqual([])
})

describe('a document', () => {
  test('links only to files and headings that are there', () => {
    /** As GitHub makes the anchor of a heading. */
    const anchorOf = (heading: string): string =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
        .replaceAll(' ', '-')
    const links = documents.flatMap(({ path, text }) =>
      [...withoutCode(text).matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].map((match) => ({ path, link: match[1] ?? '' })),
    )
    expect(links.length).toBeGreaterThan(60)
    const broken = links.filter(({ path, link }) => {
      const [target = '', anchor] = link.split('#')
      const file = target === '' ? path : posix.join(dirname(path), target)
      if (!existsSync(`${root}/${file}`)) return true
      if (anchor === undefined) return false
      return !headingsOf(readFileSync(`${root}/${file}`, 'utf8'))
        .map(anchorOf)
        .includes(anchor)
    })
    expect(broken).toEqual([])
  })

  test('of docs/ is short enough to be read', () => {
    const pages = documents.filter(({ path }) => path.startsWith('docs/'))
    expect(pages.length).toBeGreaterThan(30)
    const long = pages.filter(({ text }) => text.split('\n').length > pageLinesMax)
    expect(long.map(({ path }) => path)).toEqual([])
  })

  test('names only files and folders that are there, but where it says how to make a new one', () => {
    const named = found(
      documents,
      /(?<=(?<!New )`)(?:src|schema|rest-compat|workers|test|docs|deploy|examples)\/[a-z0-9/._-]*(?=`)/g,
    )
    expect(named.length).toBeGreaterThan(60)
    expect(named.filter((one) => !existsSync(`${root}/${one.split(': ')[1] ?? ''}`))).toEqual([])
  })

  test('names only npm commands that are there', () => {
    const { scripts } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { scripts: Record<string, string> }
    const commands = documents.flatMap(({ text }) =>
      [...text.matchAll(/npm run (?:-s )?([a-z:-]+)/g)].map((match) => match[1] ?? ''),
    )
    expect(commands.length).toBeGreaterThan(10)
    expect(commands.filter((name) => !(name in scripts))).toEqual([])
  })
})

test('the table of error codes has every code that the code answers, beside its status', () => {
  const reference = documents.find(({ path }) => path === 'docs/reference/requests.md')?.text ?? ''
  const [, table = ''] = /\n\| status \| codes \|\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(reference) ?? []
  const listed = table
    .trim()
    .split('\n')
    .flatMap((row) => {
      const [, statuses = '', codes = ''] = row.split('|')
      return [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => ({ code, statuses: statuses.trim().split(', ') }))
    })
  const declares = ['src/platform/errors.ts', 'schema/error-codes.ts']
  const product = texts.filter(
    ({ path }) => /^(?:src|schema|workers|rest-compat)\/.*\.ts$/.test(path) && !declares.includes(path),
  )
  const answered = Object.keys(errorStatuses).filter((code) => product.some(({ text }) => text.includes(`'${code}'`)))
  expect(answered.length).toBeGreaterThan(50)
  expect(listed.map(({ code }) => code).sort()).toEqual(answered.sort())
  const misplaced = listed.filter(
    ({ code, statuses }) => !statuses.includes(String((errorStatuses as Readonly<Record<string, number>>)[code])),
  )
  expect(misplaced).toEqual([])
})

describe('GraphQL in a document', () => {
  const schema = buildSchema(readFileSync(`${root}/schema/schema.graphql`, 'utf8'))

  test('fits the schema, and has no name that goes', () => {
    // In a shell an operation stands inside JSON, inside quotes of either kind.
    const inShell = [...blocks('sh'), ...texts.filter(({ path }) => /^examples\/.*\.sh$/.test(path))].flatMap(
      ({ path, text }) =>
        [...text.matchAll(/\\?"query\\?": \\?"((?:\\.|[^"\\])*?)(?<!\\\\)\\?"[,}]/g)].map((match) => ({
          path,
          text: (match[1] ?? '').replaceAll(/\\+"/g, '"'),
        })),
    )
    expect(inShell.length).toBeGreaterThan(0)
    const isSql = /^(?:select|insert|update|delete|create) /i // what POST /sql takes
    const operations = [...blocks('graphql'), ...inShell.filter(({ text }) => !isSql.test(text))]
    const problems = operations.flatMap(({ path, text }) =>
      validate(schema, parse(text), [...specifiedRules, NoDeprecatedCustomRule]).map(
        ({ message }) => `${path}: ${message}`,
      ),
    )
    expect(problems).toEqual([])
  })

  test('by the name of a mutation is there', () => {
    const fields = new Set(Object.keys(schema.getMutationType()?.getFields() ?? {}))
    const named = documents.flatMap(({ path, text }) =>
      [...text.matchAll(/\bmutations?\s((?:`\w+`(?:,? and |, |,? or )?)+)/g)].flatMap((match) =>
        [...(match[1] ?? '').matchAll(/`(\w+)`/g)].map((name) => `${path}: ${name[1]}`),
      ),
    )
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((one) => !fields.has(one.split(': ')[1] ?? ''))).toEqual([])
  })
})
