/** The floors of the house: what may import what, and no circles. */
import { describe, expect, test } from 'vitest'
import { blankOut, importsOf, productFolders, readSources, type Source } from './sources.ts'

const sources = readSources(productFolders)

/** Each floor with the folders and files on it, and the floors it may import. The longest prefix wins. */
const floors: Readonly<Record<string, { on: readonly string[]; mayImport: readonly string[] }>> = {
  platform: { on: ['src/platform/'], mayImport: [] },
  drivers: { on: ['src/drivers/'], mayImport: ['platform'] },
  resources: { on: ['src/resources/'], mayImport: ['platform', 'drivers'] },
  schema: { on: ['schema/'], mayImport: ['platform', 'drivers', 'resources'] },
  workers: { on: ['workers/'], mayImport: ['platform', 'drivers', 'resources'] },
  'rest-compat': { on: ['rest-compat/'], mayImport: ['platform', 'schema'] },
  identity: { on: ['src/identity/'], mayImport: ['platform', 'drivers', 'resources', 'start'] },
  edge: { on: ['src/edge/'], mayImport: ['platform', 'drivers', 'resources', 'schema', 'rest-compat', 'identity'] },
  console: { on: ['src/console/'], mayImport: ['platform'] },
  guide: { on: ['src/guide/'], mayImport: ['platform'] },
  mcp: { on: ['src/mcp/'], mayImport: ['platform', 'guide'] },
  client: { on: ['src/client/'], mayImport: [] },
  cli: { on: ['cli/'], mayImport: ['client'] },
  gateway: {
    on: ['src/gateway/'],
    mayImport: ['platform', 'drivers', 'resources', 'schema', 'rest-compat', 'identity', 'console', 'guide', 'mcp'],
  },
  start: {
    on: [
      'src/start/',
      'src/start.ts',
      'src/stop.ts',
      'src/doctor.ts',
      'src/backup/',
      'src/backup.ts',
      'src/restore.ts',
    ],
    mayImport: ['platform', 'drivers', 'resources', 'console'],
  },
}

/** Files that reach one floor further, and why: these paths are answered by hand, because no GraphQL document can (see the routes' own reasons). */
const chatAnswers = {
  reaches: ['drivers', 'resources'],
  because: 'a chat is asked and streamed without GraphQL between',
}
const fileStreams = {
  reaches: ['drivers', 'resources'],
  because: 'a file passes as a stream of bytes without GraphQL between',
}
const pushes = {
  reaches: ['resources'],
  because: 'a push is signed over its bytes, by a code host that is no caller of GraphQL',
}
const browsers = {
  reaches: ['resources'],
  because: 'browsers and authorization servers open these addresses, which are no callers of GraphQL',
}
const exceptions: Readonly<Record<string, { reaches: readonly string[]; because: string }>> = {
  'rest-compat/byte-streams.ts': { ...fileStreams, reaches: ['drivers'] },
  'rest-compat/agents/file-forms.ts': { ...fileStreams, reaches: ['resources'] },
  'rest-compat/agents/files.ts': { ...fileStreams, reaches: ['resources'] },
  'rest-compat/agents/peers.ts': { ...fileStreams, reaches: ['resources'] },
  'rest-compat/agents/skill-forms.ts': { ...fileStreams, reaches: ['resources'] },
  'rest-compat/agents/skills.ts': { ...fileStreams, reaches: ['resources'] },
  'rest-compat/agents/hooks.ts': pushes,
  'rest-compat/agents/connector-pages.ts': browsers,
  'rest-compat/identity/audit-events.ts': {
    reaches: ['resources'],
    because: 'lines pass as they are read, and a GraphQL answer is in memory as a whole',
  },
  'rest-compat/infra/code-host/pushes.ts': pushes,
  'rest-compat/infra/database-backups/downloads.ts': {
    reaches: ['resources'],
    because: 'the answer is where the file is, and GraphQL has no answers but bodies',
  },
  'rest-compat/infra/vm-files/requests.ts': fileStreams,
  'rest-compat/infra/vm-files/streams.ts': fileStreams,
  'rest-compat/llm/chat.ts': chatAnswers,
  'rest-compat/llm/chat-answers.ts': chatAnswers,
  'rest-compat/llm/chat-completions.ts': chatAnswers,
  'rest-compat/llm/chat-schemas.ts': chatAnswers,
  'rest-compat/llm/chat-streams.ts': chatAnswers,
  'rest-compat/llm/chunks.ts': chatAnswers,
  'rest-compat/llm/embedding-texts.ts': chatAnswers,
  'rest-compat/llm/embeddings.ts': chatAnswers,
  'rest-compat/llm/joined-chats.ts': chatAnswers,
  'rest-compat/llm/response-objects.ts': chatAnswers,
  'rest-compat/llm/response-schemas.ts': chatAnswers,
  'rest-compat/llm/response-texts.ts': chatAnswers,
  'rest-compat/llm/responses.ts': chatAnswers,
  'rest-compat/llm/message-blocks.ts': chatAnswers,
  'rest-compat/llm/message-events.ts': chatAnswers,
  'rest-compat/llm/messages.ts': chatAnswers,
  'rest-compat/llm/ui-chunks.ts': chatAnswers,
}

function floorOf(path: string): string {
  const found = Object.keys(floors).find((name) => floors[name]?.on.some((place) => path.startsWith(place)))
  if (!found) throw new Error(`${path} lies on no floor`)
  return found
}

describe('the floors', () => {
  test('every source file lies on one', () => {
    expect(sources.length).toBeGreaterThan(80)
    for (const { path } of sources) floorOf(path)
  })

  test('imports go down only, and schema and workers do not see each other', () => {
    const wrong = sources.flatMap((source) =>
      importsOf(source)
        .filter((target) => {
          const from = floorOf(source.path)
          const to = floorOf(target)
          return from !== to && !floors[from]?.mayImport.includes(to) && !exceptions[source.path]?.reaches.includes(to)
        })
        .map((target) => `${source.path} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  test('every exception is still needed', () => {
    const needed = sources
      .filter((source) =>
        importsOf(source).some((target) => exceptions[source.path]?.reaches.includes(floorOf(target))),
      )
      .map(({ path }) => path)
    expect(needed.sort()).toEqual(Object.keys(exceptions).sort())
  })

  test('the library of the Model Context Protocol is used where tool servers are asked, and where Berth is one, only', () => {
    const users = sources.filter(({ text }) => text.includes('@modelcontextprotocol/')).map(({ path }) => path)
    expect(users.length).toBeGreaterThan(3)
    expect(users.filter((path) => !path.startsWith('src/drivers/mcp/')).sort()).toEqual([
      'src/gateway/mcp/serving.ts',
      'src/mcp/server.ts',
    ])
  })

  test('the client runs anywhere, and the command line on Node alone: of packages they import these only', () => {
    const packagesOf = (folder: string): string[] =>
      sources
        .filter(({ path }) => path.startsWith(folder))
        .flatMap(({ text }) =>
          [...text.matchAll(/(?:\bfrom |\bimport\(|^import )'([^'.][^']*)'/gm)].map(([, name = '']) => name),
        )
    expect([...new Set(packagesOf('src/client/'))]).toEqual(['graphql-ws/client'])
    const ofCli = new Set(packagesOf('cli/').filter((name) => !name.startsWith('node:')))
    expect([...ofCli].sort()).toEqual(['@bomb.sh/tab', 'commander', 'ws', 'yaml'])
  })

  test('answers of the DNS are read by the thread for them only, and by what the operator runs by hand', () => {
    const users = sources.filter(({ text }) => text.includes('new Resolver(')).map(({ path }) => path)
    expect(users.filter((path) => !path.startsWith('test/')).sort()).toEqual([
      'src/drivers/dns-thread.ts',
      'src/start/edge-checks.ts',
    ])
  })

  test('no file imports itself by way of others', () => {
    expect(circles(sources)).toEqual([])
  })
})

describe('the scan itself', () => {
  const source = (path: string, text: string): Source => ({ path, text, code: blankOut(text) })

  test('sees imports of values, of types, for effect, late, and of names handed on', () => {
    const text =
      "import a from './a.ts'\nimport type { B } from '../b.ts'\nimport './c.ts'\nexport { d } from '#src/d.ts'\nconst e = await import('#workers/e.ts')\nimport {\n  f,\n} from \"./f.ts\"\nimport g from 'g'"
    expect(importsOf(source('x/y/z.ts', text))).toEqual([
      'x/y/a.ts',
      'x/b.ts',
      'x/y/c.ts',
      'src/d.ts',
      'workers/e.ts',
      'x/y/f.ts',
    ])
  })

  test('is not misled by comments, strings, templates and patterns', () => {
    const text =
      "// import './no.ts'\n/* import './no.ts' */\nconst s = \"import './no.ts'\"\nconst t = `import './no.ts' ${'}'} ${`import './no.ts'`}`\nconst r = /['\"`]/g\nconst n = 6 / 2 / 1\nimport './yes.ts'"
    expect(importsOf(source('a.ts', text))).toEqual(['yes.ts'])
  })

  test('finds a circle of three', () => {
    const three = [
      source('a.ts', "import './b.ts'"),
      source('b.ts', "import './c.ts'"),
      source('c.ts', "import './a.ts'"),
      source('d.ts', "import './a.ts'"),
    ]
    expect(circles(three)).toEqual(['a.ts -> b.ts -> c.ts -> a.ts'])
  })
})

/** Every circle once, as `a -> b -> a`. Imports of types count: who needs each other's types belongs together. */
function circles(files: readonly Source[]): string[] {
  const targets = new Map(files.map((file) => [file.path, importsOf(file)]))
  const done = new Set<string>()
  const found: string[] = []
  const walk = (path: string, trail: readonly string[]): void => {
    const before = trail.indexOf(path)
    if (before >= 0) {
      found.push([...trail.slice(before), path].join(' -> '))
      return
    }
    if (done.has(path)) return
    for (const target of targets.get(path) ?? []) walk(target, [...trail, path])
    done.add(path)
  }
  for (const { path } of files) walk(path, [])
  return found
}
