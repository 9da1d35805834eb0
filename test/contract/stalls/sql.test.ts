/**
 * No statement over HTTP holds the edge: requests of `POST /sql` at their largest size, and answers of the most that there
 * may be, in the shapes that take longest to read and to write. Web and edge are one process here, so it may be either.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limits } from '#src/platform/limits.ts'
import { filled, jsonShapes } from '../../support/stalls/shapes.ts'
import { findHolds, startWatched, type WatchedProcess } from '../../support/stalls/watched-process.ts'

type Ready = { url: string; host: string; user: string; token: string }

let edge: WatchedProcess<Ready>
beforeAll(async () => {
  edge = await startWatched<Ready>(new URL('./edge-child.ts', import.meta.url), [], ['--max-semi-space-size=32'])
  for (let time = 0; time < 5; time++) await post(JSON.stringify({ query: 'select generate_series(1, 10000)' })) // warm
}, 60_000)
afterAll(() => edge?.stop())

async function post(body: string, headers: Record<string, string> = {}): Promise<void> {
  const { url, host, user, token } = edge.ready
  const answer = await fetch(`${url}/sql`, {
    method: 'POST',
    headers: {
      'neon-connection-string': `postgresql://${user}@${host}/app`,
      authorization: `Bearer ${token}`,
      ...headers,
    },
    body,
  })
  const text = await answer.text()
  if (answer.status >= 500) throw new Error(`${answer.status} ${text.slice(0, 300)}`)
}

const bodyBytes = limits.infraBodyBytes - 100
/** Of a statement: as much as fits of the same piece. */
const statement = (before: string, piece: (at: number) => string, after = '') =>
  `${before}${filled(bodyBytes / 2 - 100, piece)}${after}`
/** Statements that take long to cut into tokens, to check or to send. */
const statements: Readonly<Record<string, string>> = {
  // Copying is refused before Postgres sees it, which would take minutes for these.
  'comments in comments': `${statement('', () => '/*')}${statement('', () => '*/')}copy a from stdin`,
  'comments one after another': statement('', () => '/**/', 'copy a from stdin'),
  'lines of comments': statement('', () => '--\n', 'select 1'),
  'quotation marks': statement('select ', () => "''"),
  'names in quotation marks': statement('select ', () => '""'),
  'a text that is never closed': statement("select E'", () => "\\'"),
  dollars: statement('select ', () => '$'),
  'texts in dollars, each of its own kind': statement('select ', (at) => `$a${at}$`),
  'almost the end of a text in dollars': statement('select $a$', () => '$a'),
  semicolons: statement('', () => ';'),
  statements: statement('', () => 'select 1;'),
  'names with dots': statement('select a', () => '.a'),
  'calls in calls': statement('select ', () => 'a('),
  parentheses: statement('', () => '('),
  'numbers of parameters': statement('select $1', () => ',$1'),
  'parameters that are not there': statement('select 1', (at) => `,$${at + 1}`),
  spaces: statement('', () => ' ', 'select 1'),
  'line ends': statement('', () => '\r\n', 'select 1'),
  'what sets something': statement('', () => "set a.b='c';"),
  'one long word': statement('select ', () => 'a'),
  'letters beyond ASCII': statement('select ', () => 'é'),
  emojis: statement("select '", () => '😀', "'"),
  'begin and commit': statement('', () => 'begin;commit;'),
  copy: statement('', () => ';;', 'copy a from stdin'),
}
/** As many as there may be, or fit. */
const batch = (query: object): string =>
  JSON.stringify({ queries: Array.from({ length: limits.sqlQueriesMax }, () => query) })

test('in a request', async () => {
  const works = {
    ...Object.fromEntries(
      Object.entries(jsonShapes).map(([name, shape]) => [
        `values: ${name}`,
        `{"query":"select $1","params":[${shape(bodyBytes - 40)}]}`,
      ]),
    ),
    ...Object.fromEntries(Object.entries(jsonShapes).map(([name, shape]) => [`body: ${name}`, shape(bodyBytes)])),
    ...Object.fromEntries(
      Object.entries(statements).map(([name, query]) => [`statement: ${name}`, JSON.stringify({ query })]),
    ),
    'many values': JSON.stringify({
      query: 'select 1',
      params: Array.from({ length: limits.sqlParamsMax }, () => null),
    }),
    'many objects as values': JSON.stringify({
      query: 'select 1',
      params: Array.from({ length: limits.sqlParamsMax }, () => ({})),
    }),
    'many statements': batch({ query: 'select 1' }),
    'many statements that fail': batch({ query: 'rollback' }),
    'many statements with many values': batch({ query: 'select 1', params: Array.from({ length: 300 }, () => 1) }),
  }
  expect(
    await findHolds(edge, Object.fromEntries(Object.entries(works).map(([name, body]) => [name, () => post(body)]))),
  ).toEqual({})
}, 180_000)

const answerBytes = limits.sqlAnswerBytes - 100_000
const columns = (count: number, column: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => column(at)).join()
const large = (expression: string): string => `select ${expression}`
/** Statements whose answers are as large as they may be. */
const answers: Readonly<Record<string, string>> = {
  'rows of a number': `select generate_series(1, ${Math.floor(answerBytes / 18)})`,
  'rows of nothing': `select from generate_series(1, ${Math.floor(answerBytes / 7)})`,
  'rows of null': `select null::int from generate_series(1, ${Math.floor(answerBytes / 11)})`,
  'rows of empty texts': `select '' from generate_series(1, ${Math.floor(answerBytes / 11)})`,
  'rows of large numbers': `select 9007199254740993 from generate_series(1, ${Math.floor(answerBytes / 27)})`,
  'rows of floats': `select 1.5e300::float8 from generate_series(1, ${Math.floor(answerBytes / 20)})`,
  'rows of truths': `select true from generate_series(1, ${Math.floor(answerBytes / 12)})`,
  'rows of many nulls': `select ${columns(1600, () => 'null')} from generate_series(1, ${Math.floor(answerBytes / 6407) - 10})`,
  'rows of many numbers': `select ${columns(1600, () => '1')} from generate_series(1, ${Math.floor(answerBytes / 8007) - 10})`,
  'columns with long names': `select ${columns(1600, (at) => `1 as "${String(at).padStart(63, 'x')}"`)} from generate_series(1, 10)`,
  'columns of one name': `select ${columns(1600, () => `1 as a`)} from generate_series(1, ${Math.floor(answerBytes / 8007) - 10})`,
  'a text': large(`repeat('x', ${answerBytes})`),
  'control characters': large(`repeat(E'\\x01', ${answerBytes})`),
  'quotation marks': large(`repeat('"', ${answerBytes})`),
  backslashes: large(`repeat(E'\\\\', ${answerBytes})`),
  'letters beyond ASCII': large(`repeat('é', ${answerBytes / 2})`),
  emojis: large(`repeat('😀', ${answerBytes / 4})`),
  bytes: large(`decode(repeat('00', ${Math.floor(answerBytes / 2)}), 'hex')`),
  'a list': large(`array_fill(1, array[${Math.floor(answerBytes / 2)}])`),
  'JSON of lists': large(`('[' || repeat('[],', ${Math.floor(answerBytes / 3)}) || '0]')::json`),
  'JSON, deep': large(`(repeat('[', 5000) || repeat(']', 5000))::json from generate_series(1, 900)`),
  'JSON with binary': large(`jsonb_build_object('a', repeat(E'\\x01', ${Math.floor(answerBytes / 6)}))`),
  'a few texts of a megabyte': `select repeat(E'\\x01', 1000000) from generate_series(1, 9)`,
  'texts just below a part': `select repeat(E'\\x01', 65535) from generate_series(1, 140)`,
  'what is too large': `select repeat('x', 20000000)`,
  'rows without end': 'select generate_series(1, 1000000000)',
  'an error of a large message': `do $$ begin raise exception '%', repeat(E'\\x01', ${answerBytes}); end $$`,
  'an error of large details': `do $$ begin raise exception 'x' using detail = repeat(E'\\x01', ${answerBytes / 2}), hint = repeat('"', ${answerBytes / 2}); end $$`,
  'large notices': `do $$ begin raise notice '%', repeat('x', ${answerBytes}); end $$`,
  'many notices': `do $$ begin for i in 1..60000 loop raise notice 'x'; end loop; end $$`,
  'settings told again and again': `do $$ begin for i in 1..100000 loop perform set_config('application_name', i::text, false); end loop; end $$`,
}

test('in an answer', async () => {
  const works = Object.fromEntries(
    Object.entries(answers).map(([name, query], at) => [
      name,
      () => post(JSON.stringify({ query }), at % 2 === 0 ? {} : { 'neon-array-mode': 'true' }),
    ]),
  )
  expect(await findHolds(edge, works)).toEqual({})
}, 120_000)

test('in the answers of many statements', async () => {
  const works = {
    'many columns': () =>
      post(
        JSON.stringify({
          queries: Array.from({ length: 60 }, () => ({ query: `select ${columns(1600, () => '1')}` })),
        }),
      ),
    'many rows': () => post(batch({ query: 'select generate_series(1, 500)' })),
  }
  expect(await findHolds(edge, works)).toEqual({})
}, 60_000)
