/** The law of style, as far as a scan can tell: sizes, names, words of the language that are not used, docstrings. */
import { basename, dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { blankOut, listFiles, productFolders, readSources, type Source } from './sources.ts'

const product = readSources(productFolders)
const all = [...product, ...readSources(['test'])]
const linesMax = { product: 300, tests: 500, function: 70, sqlWidth: 160 }
const folderFilesMax = 30

/** It is written by `npm run tables`, a line or more for each table. */
const generatedTables = 'src/platform/postgres/tables.ts'

const ownPath = 'test/architecture/style.test.ts'
/** A dropped connection shows as nothing but seconds. */
const measuredTimes: readonly string[] = ['test/infra/compute/postgres-machines.vm.test.ts']

/** The page's script is one function because it is sent to the browser as its text. */
const longerFunctions: readonly string[] = ['src/gateway/graphiql-bar.ts: barScript']

/** Where in these files the code has the pattern, as `path:line`. */
function places(
  sources: readonly Source[],
  pattern: RegExp,
  where: (source: Source) => string = ({ code }) => code,
): string[] {
  return sources.flatMap((source) =>
    [...where(source).matchAll(pattern)].map(
      (match) => `${source.path}:${where(source).slice(0, match.index).split('\n').length}`,
    ),
  )
}

test('no test fails because a machine is slow: none expects that less than so much time has passed', () => {
  const pattern = /expect\((?:performance|Date)\.now\(\) - [^\n]*toBeLessThan/g
  const where = places(
    all.filter(({ path }) => path.startsWith('test/') && !path.startsWith('test/bench/')),
    pattern,
  )
  expect(where.filter((place) => !measuredTimes.some((path) => place.startsWith(path)))).toEqual([])
  expect(measuredTimes.filter((path) => !where.some((place) => place.startsWith(path)))).toEqual([])
})

test('no test expects anything of resident memory, which the allocator and its history decide', () => {
  const tests = all.filter(({ path }) => path.startsWith('test/') && !path.startsWith('test/bench/'))
  expect(places(tests, /\.rss\b|VmRSS/g, ({ text, path }) => (path === ownPath ? '' : text))).toEqual([])
})

test(`SQL is written a clause a line: none of its lines has more than ${linesMax.sqlWidth} characters`, () => {
  const clause =
    /sql(?:<[^`]*>)?`|^\s*(?:with|select|insert into|update|delete from|set|values|from|(?:left |cross )?join|where|and|or|order by|on conflict|returning) /
  const long = product.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, at) => (line.length > linesMax.sqlWidth && clause.test(line) ? [`${path}:${at + 1}`] : [])),
  )
  expect(long).toEqual([])
})

describe('files', () => {
  test(`have at most ${linesMax.product} lines, those of tests ${linesMax.tests}`, () => {
    const long = all.filter(({ path, text }) => {
      if (path === generatedTables) return false
      const lines = text.split('\n').length - 1
      return lines > (path.startsWith('test/') ? linesMax.tests : linesMax.product)
    })
    expect(long.map(({ path }) => path).toSorted()).toEqual([])
  })

  test(`have functions of at most ${linesMax.function} lines`, () => {
    expect(product.flatMap(longFunctions).toSorted()).toEqual(longerFunctions.toSorted())
  })

  test(`are at most ${folderFilesMax} in a folder`, () => {
    const folders = Map.groupBy(listFiles([...productFolders, 'test', 'docs'], ''), (path) => dirname(path))
    const full = [...folders].filter(
      ([folder, files]) => files.length > folderFilesMax && folder !== 'src/platform/migrations', // it can only grow
    )
    expect(full.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([])
  })

  test('are named in kebab-case after what they hold, never after a kind of file', () => {
    const paths = listFiles([...productFolders, 'test'], '.ts')
    expect(
      paths.filter(
        (path) =>
          !/^(?:[a-z0-9]+(?:-[a-z0-9]+)*\/)*[a-z0-9]+(?:-[a-z0-9]+)*(?:\.(?:vm\.)?test|\.config)?\.ts$/.test(path),
      ),
    ).toEqual([])
    expect(
      paths.filter((path) =>
        /^(?:index|types?|utils?|helpers?|misc|common|constants|interfaces?|managers?|services?\.)\.ts$/.test(
          basename(path),
        ),
      ),
    ).toEqual([])
    expect(
      paths.filter((path) =>
        path
          .split('/')
          .some((part) => ['utils', 'helpers', 'types', 'lib', 'common', 'services', 'managers', 'dto'].includes(part)),
      ),
    ).toEqual([])
  })

  test('begin with a comment that says what they are for', () => {
    expect(product.filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text)).map(({ path }) => path)).toEqual([])
  })
})

describe('code', () => {
  test('has no any, and nothing that type stripping cannot take away', () => {
    expect(places(all, /(?:[:<,|&]|\bas|=>)\s*any\b(?!\()/g)).toEqual([])
    expect(places(all, /^\s*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s+\w/gm)).toEqual([])
    expect(places(all, /^\s*(?:export\s+)?(?:declare\s+)?namespace\s+\w/gm)).toEqual([])
    expect(places(all, /constructor\s*\([^)]*\b(?:public|private|protected|readonly)\s+\w+\s*[?:]/g)).toEqual([])
    expect(places(all, /^\s*@\w+/gm)).toEqual([])
  })

  test('disables no check', () => {
    // The words are put together so that this file is not found by itself.
    expect(
      places(all, new RegExp(`@ts-${'(?:ignore|nocheck|expect-error)'}|eslint-${'disable'}`, 'g'), ({ text }) => text),
    ).toEqual([])
  })

  test('swallows no error', () => {
    // A comment inside the braces, or at the end of the line, says why nothing is done.
    const silent = /catch\s*(?:\([^)]*\)\s*)?\{\s*\}|\.catch\(\(\w*\)\s*=>\s*(?:\{\s*\}|undefined|null)\)(?!.*\/\/ )/g
    expect(places(product, silent, ({ text }) => text)).toEqual([])
  })

  test('is named in the field’s words: notify, report or write, continue, release', () => {
    const named = all.filter(({ path }) => path !== generatedTables && path !== ownPath)
    expect(places(named, /\b(?:tells?|told|said)[A-Z]|[a-z](?:Tell|Told|Said)\b|\b(?:letGo|goOn)\b/g)).toEqual([])
  })

  test('spells cancelled with two l', () => {
    expect(places(all, new RegExp(`\\bcancel${'ed'}\\b|\\bcancel${'ing'}\\b`, 'gi'), ({ text }) => text)).toEqual([])
  })
})

describe('exports', () => {
  test('have a docstring, each or together with the one directly above', () => {
    expect(product.flatMap(undocumentedExports)).toEqual([])
  })

  test('without a docstring are found by this test', () => {
    const made = (text: string): Source => ({ path: 'x.ts', text, code: blankOut(text) })
    expect(undocumentedExports(made('/** What for. */\n\nimport a from "a"\n\nexport const b = 1\n'))).toEqual([
      'x.ts: b',
    ])
    expect(
      undocumentedExports(made('/** B. */\nexport const b = 1\nexport type B = typeof b\n\nexport type C = 1\n')),
    ).toEqual(['x.ts: C'])
    expect(
      undocumentedExports(made('/** B. */\nexport async function* b() {\n}\n/** C. */\nexport class C {}\n')),
    ).toEqual([])
  })
})

/** Names of exports with no docstring right above them; one of a run of lines without a gap is documented by the first. */
function undocumentedExports({ path, text, code }: Source): string[] {
  const lines = code.split('\n')
  const original = text.split('\n')
  const documented = (line: number): boolean => {
    const above = original[line - 1]?.trimEnd() ?? ''
    if (above.endsWith('*/')) return true
    // Overloads share the docstring of the first, one of them may end in the middle of the line above.
    const name = /^export\s+function\s+(\w+)/.exec(lines[line] ?? '')?.[1]
    if (name && lines.findIndex((one) => new RegExp(`^export\\s+function\\s+${name}\\b`).test(one)) < line) return true
    return /^export\b/.test(lines[line - 1] ?? '') && documented(line - 1)
  }
  return lines.flatMap((line, number) => {
    const name =
      /^export\s+(?:declare\s+)?(?:async\s+)?(?:default\s+)?(?:abstract\s+)?(?:function\s*\*?|const|let|class|type|interface)\s*(\w+)/.exec(
        line,
      )?.[1]
    return name && !documented(number) ? [`${path}: ${name}`] : []
  })
}

/** Top-level functions longer than allowed, as `path: name`. */
function longFunctions({ path, code }: Source): string[] {
  const lines = code.split('\n')
  return lines.flatMap((line, number) => {
    const name = /^(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*(\w+)/.exec(line)?.[1]
    if (!name) return []
    const length = lines.slice(number).findIndex((one) => one.startsWith('}')) + 1
    return length > linesMax.function ? [`${path}: ${name}`] : []
  })
}
