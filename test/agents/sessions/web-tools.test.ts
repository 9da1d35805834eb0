/** The tools that need no VM: pages and searches of the web; which tools are offered; what a model is told of a log. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ReasoningBlock } from '#src/drivers/models/model.ts'
import { newUuid } from '#src/platform/ids.ts'
import { canCompact, conversationOf } from '#src/resources/agents/turns/conversations.ts'
import { keepEnds } from '#src/resources/agents/tools/kept-output.ts'
import { mcpToolName } from '#src/resources/agents/tools/mcp-names.ts'
import { offersOf, readArguments } from '#src/resources/agents/tools/offers.ts'
import { textOfHtml } from '#src/resources/agents/tools/page-text.ts'
import { fetchPage, searchWeb } from '#src/resources/agents/tools/web.ts'
import type { WebRestrictions } from '#src/resources/agents/agents/rows.ts'
import { whyRestricted } from '#src/resources/agents/agents/web-restrictions.ts'
import { storable } from '#src/resources/agents/storable.ts'
import type { TurnEvent } from '#src/resources/agents/turns.ts'
import { freePort } from '../../support/ports.ts'

let server: Server
let host: string
let asked: string[] = []
const berthPage = { title: 'Berth', url: 'https://example.com/', content: 'A cloud.' }
let found: { title: string; url?: string; content: string }[] = [berthPage]
beforeAll(async () => {
  const port = await freePort()
  host = `127.0.0.1:${port}`
  server = createServer((req, res) => {
    asked.push(req.url ?? '')
    if (req.url === '/page')
      return void res
        .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
        .end(
          '<title>T</title><style>x{}</style><h1>Hello &amp; welcome</h1><script>evil()</script><p>One<br>two &#252;</p>',
        )
    if (req.url === '/big')
      return void res.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(3 * 1024 * 1024))
    if (req.url === '/italics')
      return void res.writeHead(200, { 'content-type': 'text/html' }).end('a<i> '.repeat(400_000))
    if (req.url === '/image') return void res.writeHead(200, { 'content-type': 'image/png' }).end('png')
    if (req.url === '/away') return void res.writeHead(302, { location: 'http://127.0.0.1:9/inside' }).end()
    if (req.url === '/elsewhere') return void res.writeHead(302, { location: `http://localhost:${port}/page` }).end()
    if (req.url === '/twice') return void res.writeHead(302, { location: '/elsewhere' }).end()
    if (req.url === '/named') return void res.writeHead(302, { location: `http://user@127.0.0.1:${port}/page` }).end()
    if (req.url === '/round') return void res.writeHead(302, { location: '/round' }).end()
    if (req.url?.startsWith('/search'))
      return void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results: found }))
    res.writeHead(404, { 'content-type': 'text/plain' }).end('not here')
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
})
const never = new AbortController().signal
const fetching = (path: string, privateHosts = [host]) =>
  fetchPage({ privateHosts }, path.startsWith('/') ? `http://${host}${path}` : path, {}, never)

describe('web_fetch', () => {
  test('reads a page as text, and the beginning of a large one', async () => {
    expect(await fetching('/page')).toEqual({
      text: `http://${host}/page\n\nT\nHello & welcome\n\nOne\ntwo ü`,
      isError: false,
      usage: { webFetchRequests: 1 },
    })
    const big = await fetching('/big')
    expect(big.text.length).toBeLessThan(31_000)
    expect(big.text).toMatch(/\[Cut: this is the beginning/)
  })

  test('says what it cannot read, and reaches no private host, not even by a redirect', async () => {
    expect(await fetching('/image')).toMatchObject({
      isError: true,
      text: expect.stringContaining('image/png, which is not text'),
    })
    expect(await fetching('/none')).toMatchObject({ isError: true, text: expect.stringContaining('answered 404') })
    expect(await fetching('/away')).toMatchObject({ isError: true, text: expect.stringContaining('Only https://') })
    expect(await fetching('/round')).toMatchObject({
      isError: true,
      text: expect.stringContaining('more than 5 times'),
    })
    asked = []
    expect(await fetching('/page', [])).toMatchObject({ isError: true })
    expect(await fetching('https://127.0.0.1/')).toMatchObject({ isError: true })
    expect(await fetching('no address')).toMatchObject({
      isError: true,
      text: expect.stringContaining('must be an https:// address'),
    })
    expect(asked).toEqual([])
  })

  test('reaches only the domains that its agent may, at every hop of a redirect', async () => {
    const local = `localhost:${host.split(':')[1]}`
    const restricted = (path: string, restrictions: WebRestrictions) =>
      fetchPage({ privateHosts: [host, local] }, `http://${host}${path}`, restrictions, never)
    expect(await restricted('/twice', {})).toMatchObject({ isError: false })
    expect(await restricted('/page', { allowed_domains: ['127.0.0.1'] })).toMatchObject({ isError: false })
    expect(await restricted('/twice', { allowed_domains: ['localhost', '127.0.0.1'] })).toMatchObject({
      isError: false,
    })
    asked = []
    expect(await restricted('/page', { allowed_domains: ['docs.example.com'] })).toEqual({
      isError: true,
      text: 'This agent may only reach these domains and their subdomains: docs.example.com.',
    })
    expect(await restricted('/page', { blocked_domains: ['127.0.0.1'] })).toMatchObject({
      isError: true,
      text: 'This agent may not reach 127.0.0.1.',
    })
    expect(asked).toEqual([])
    expect(await restricted('/twice', { allowed_domains: ['127.0.0.1'] })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^The address redirects to localhost\. This agent/),
    })
    expect(await restricted('/twice', { blocked_domains: ['localhost'] })).toMatchObject({
      isError: true,
      text: expect.stringContaining('may not reach localhost'),
    })
    expect(await restricted('/named', {})).toMatchObject({ isError: true, text: expect.stringContaining('user name') })
    expect(asked).toEqual(['/twice', '/elsewhere', '/twice', '/elsewhere', '/named'])
  })

  test('gives the model no more of a page than its agent may have', async () => {
    const { text } = await fetchPage({ privateHosts: [host] }, `http://${host}/big`, { max_content_tokens: 100 }, never)
    expect(text.match(/x+/g)?.at(-1)).toHaveLength(400)
    expect(text).toContain('[Cut: this is the beginning')
  })

  test.each<[string, string, boolean]>([
    ['docs.example.com', 'https://docs.example.com/a', true],
    ['docs.example.com', 'https://v2.docs.example.com', true],
    ['docs.example.com', 'https://example.com', false],
    ['docs.example.com', 'https://evil-docs.example.com', false],
    ['docs.example.com', 'https://docs.example.com.evil.net', false],
    ['DOCS.Example.com', 'https://docs.EXAMPLE.com:8443/', true],
    ['example.com', 'https://example.com./x', true],
    ['example.com.', 'https://example.com/x', true],
    ['example.com', 'https://example.com@evil.net/', false],
    ['bücher.example', 'https://xn--bcher-kva.example/', true],
    ['xn--bcher-kva.example', 'https://www.BÜCHER.example/', true],
    ['example.com', 'https://example.com%2eevil.net', false],
    ['127.0.0.1', 'https://2130706433/', true],
    ['0.0.1', 'https://127.0.0.1/', false],
    ['example.com/docs', 'https://www.example.com/docs/a', true],
    ['example.com/docs/', 'https://example.com/docs', true],
    ['example.com/docs', 'https://example.com/docsy', false],
    ['example.com/docs', 'https://example.com/docs/../secret', false],
  ])('takes %s for the domain of %s: %s', (entry, address, isWithin) => {
    const url = URL.parse(address)
    expect(url !== null && whyRestricted({ allowed_domains: [entry] }, url) === null).toBe(isWithin)
    if (url) expect(whyRestricted({ blocked_domains: [entry] }, url) === null).toBe(!isWithin)
  })

  test('removes all markup', () => {
    expect(textOfHtml('<!-- x --><ul><li>a</li><li>b &lt;c&gt;</li></ul><script>no end')).toBe('a\n\nb <c>')
  })

  test('takes linear time for pages that are made to be slow to search', () => {
    for (const piece of [
      '<',
      '<p ',
      '<script ',
      '<script>',
      '</script ',
      '<!--',
      '< \n',
      '<i> ',
      '<i>',
      '</b>',
      '&nbsp;',
      '&',
      '&#',
      ' \n',
      '<a b=',
      '<![CDATA[',
      '<?',
    ]) {
      const page = piece.repeat(Math.floor(2_000_000 / piece.length))
      const before = process.threadCpuUsage() // not the clock: others may be at work on this machine
      textOfHtml(page)
      expect(process.threadCpuUsage(before).user / 1000, piece).toBeLessThan(2_000)
    }
  })

  test('does not block the event loop', async () => {
    const stalls = monitorEventLoopDelay({ resolution: 1 })
    await fetchPage({ privateHosts: [host] }, `http://${host}/italics`, {}, never) // the thread runs
    stalls.enable()
    const cpu = process.cpuUsage()
    const { text, isError } = await fetchPage({ privateHosts: [host] }, `http://${host}/italics`, {}, never)
    const { user, system } = process.cpuUsage(cpu)
    stalls.disable()
    expect([isError, text.includes('a')]).toEqual([false, true])
    expect(Math.min(stalls.max / 1e6, (user + system) / 1e3)).toBeLessThan(500) // it was 85 s; of a page's own work none is here
  })
})

test('web_search asks the operator’s engine', async () => {
  expect(await searchWeb({ searchUrl: `http://${host}/search` }, 'ships & harbours', {}, never)).toEqual({
    text: 'Berth\nhttps://example.com/\nA cloud.',
    isError: false,
    usage: { webSearchRequests: 1 },
  })
  expect(asked.at(-1)).toBe('/search?q=ships+%26+harbours&format=json')
  expect(await searchWeb({ searchUrl: `http://${host}/none` }, 'x', {}, never)).toMatchObject({ isError: true })
})

test('web_search removes results that its agent may not reach, and asks the engine for those that it may', async () => {
  const elsewhere = { title: 'Elsewhere', url: 'https://elsewhere.net/', content: 'Other.' }
  found = [
    ...Array.from({ length: 20 }, () => elsewhere),
    { title: 'No address', content: '' },
    { title: 'Odd', url: 'no address', content: '' },
    { ...berthPage, url: 'https://docs.example.com/a' },
  ]
  const searching = async (restrictions: WebRestrictions): Promise<string> =>
    (await searchWeb({ searchUrl: `http://${host}/search` }, 'ships', restrictions, never)).text
  try {
    expect(await searching({ allowed_domains: ['example.com'] })).toBe('Berth\nhttps://docs.example.com/a\nA cloud.')
    expect(asked.at(-1)).toBe('/search?q=ships+site%3Aexample.com&format=json')
    expect(await searching({ blocked_domains: ['elsewhere.net'] })).toBe('Berth\nhttps://docs.example.com/a\nA cloud.')
    expect(asked.at(-1)).toBe('/search?q=ships&format=json')
    expect(await searching({ allowed_domains: ['example.com/b'] })).toBe('Nothing was found.')
  } finally {
    found = [berthPage]
  }
})

describe('the tools that a model is offered', () => {
  const setting = (enabled: boolean, type: 'always_allow' | 'always_ask' = 'always_allow') => ({
    enabled,
    permission_policy: { type },
  })
  const none = new Map<string, never[]>()
  type Given = [facts: Partial<Parameters<typeof offersOf>[1]>, tools: Parameters<typeof offersOf>[0]['tools']]
  const offers = (...[facts, tools]: Given): ReturnType<typeof offersOf> =>
    offersOf(
      { tools },
      {
        hasEnvironment: false,
        canSearch: false,
        usesMemories: false,
        usedByVm: false,
        toolsRunAtClient: false,
        mcpTools: none,
        askedFirst: new Set(),
        ...facts,
      },
    )
  const names = (...given: Given): string[] => offers(...given).map(({ tool }) => tool.name)
  const standard = { type: 'agent_toolset_20260401' as const, default_config: setting(true), configs: [] }

  test('are those that work in the session, and no others', () => {
    expect(names({}, [standard])).toEqual(['web_fetch'])
    expect(names({ hasEnvironment: true, canSearch: true, usesMemories: true }, [standard])).toEqual([
      'bash',
      'read',
      'write',
      'edit',
      'glob',
      'grep',
      'web_fetch',
      'web_search',
    ])
    expect(
      names({ hasEnvironment: true }, [
        { ...standard, default_config: setting(false), configs: [{ name: 'read', ...setting(true) }] },
      ]),
    ).toEqual(['read'])
    const ours = { type: 'berth_toolset_v1' as const, default_config: setting(true), configs: [] }
    expect(names({ hasEnvironment: true }, [ours])).toEqual(['ask_user', 'ask_peer', 'deploy'])
    expect(names({ hasEnvironment: true, usedByVm: true }, [ours])).toEqual(['ask_user'])
    expect(names({ usesMemories: true }, [ours])).toEqual(['ask_user', 'remember', 'recall', 'ask_peer'])
    expect(names({ toolsRunAtClient: true }, [ours])).toEqual(['ask_user'])
  })

  test('from servers have unique, stable names that every provider accepts', () => {
    const odd = ['ä', 'a.b', 'a b', 'x'.repeat(90), `${'x'.repeat(89)}y`]
    const made = odd.map((name) => mcpToolName('my server', name))
    for (const name of made) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect(new Set(made).size).toBe(odd.length)
    expect(mcpToolName('sums', 'add')).toBe('mcp__sums__add')
    const listed = new Map([
      ['my server', odd.map((name) => ({ name, description: null, inputSchema: { type: 'object' } }))],
    ])
    expect(
      names({ mcpTools: listed }, [
        {
          type: 'mcp_toolset',
          mcp_server_name: 'my server',
          default_config: setting(true, 'always_ask'),
          configs: [{ name: 'a b', ...setting(false) }],
        },
      ]),
    ).toHaveLength(odd.length - 1)
  })

  test('answer invalid calls with the error, also for schemas that are invalid', async () => {
    const [bash] = offers({ hasEnvironment: true }, [standard])
    expect(await readArguments('{"command":"ls"}', bash)).toEqual({ input: { command: 'ls' }, problem: null })
    expect(await readArguments('', bash)).toEqual({ input: {}, problem: null })
    expect((await readArguments('{"command":7}', bash)).problem).toContain('do not match')
    expect((await readArguments(`${'['.repeat(5000)}${']'.repeat(5000)}`, bash)).problem).toContain('not a JSON object')
    expect((await readArguments(`{"a":${'['.repeat(100)}${']'.repeat(100)}}`, bash)).problem).toContain(
      'not a JSON object',
    )
    const strange = bash && { ...bash, tool: { ...bash.tool, parameters: { $ref: '#/nowhere' } } }
    expect((await readArguments('{}', strange)).problem).toBeNull()
  })

  test('are not called with arguments whose validation would take forever, and nothing else has to wait', async () => {
    const [bash] = offers({ hasEnvironment: true }, [standard])
    const twice = (to: number): object => ({ allOf: [{ $ref: `#/$defs/d${to}` }, { $ref: `#/$defs/d${to}` }] })
    const endless = {
      type: 'object',
      $defs: Object.fromEntries([...Array.from({ length: 60 }, (_, at) => [`d${at}`, twice(at + 1)]), ['d60', {}]]),
      ...twice(0),
    }
    for (const parameters of [{ type: 'object', properties: { x: { type: 'string', pattern: '^(a+)+$' } } }, endless]) {
      const offer = bash && { ...bash, tool: { ...bash.tool, parameters } }
      for (let calls = 0; calls < 20; calls++)
        expect((await readArguments(JSON.stringify({ x: `${'a'.repeat(60)}!` }), offer)).problem).toContain(
          'could not be checked',
        )
    }
    const circle = { type: 'object', $defs: { d: { $ref: '#/$defs/d' } }, $ref: '#/$defs/d' }
    const offer = bash && { ...bash, tool: { ...bash.tool, parameters: circle } }
    expect((await readArguments('{}', offer)).problem).toContain('could not be checked')
  })

  test('may be called after a validation that timed out once, as on a busy host', async () => {
    const [bash] = offers({ hasEnvironment: true }, [standard])
    const parameters = { type: 'object', properties: { x: { type: 'string', pattern: '^(b+)+$' } } }
    const offer = bash && { ...bash, tool: { ...bash.tool, parameters } }
    const problems: (string | null)[] = []
    for (const x of ['b'.repeat(40) + '!', 'b', 'b'.repeat(40) + '!', 'b'])
      problems.push((await readArguments(JSON.stringify({ x }), offer)).problem)
    expect(problems).toEqual([expect.any(String), null, expect.any(String), null])
  })
})

describe('the conversation of a log', () => {
  let position = 0
  const event = (type: string, data: Record<string, unknown> = {}, answers: string | null = null): TurnEvent => ({
    id: newUuid(),
    type,
    data,
    answers,
    processedAt: 'then',
    position: ++position,
    takenPosition: null,
  })
  const text = (said: string) => ({ content: [{ type: 'text', text: said }] })
  const block = (model: string): ReasoningBlock => ({
    id: null,
    text: 'hm',
    model,
    signature: 's',
    encryptedContent: null,
    redacted: false,
  })
  const order = (reasoning: ReadonlyMap<string, ReasoningBlock[]> = new Map()) => ({
    system: 'be kind',
    model: 'a/one',
    seesImages: false,
    readsPdf: false,
    reasoning,
    nameOf: ({ data }: TurnEvent) => String(data['name']),
  })

  test('has each answer with its own reasoning, only for the model that produced it', () => {
    const [span, other] = [event('span.model_request_start'), event('span.model_request_start')]
    const log = [
      event('user.message', text('hi')),
      span,
      event('agent.message', text('one')),
      event('user.message', text('more')),
      other,
      event('agent.message', text('two')),
    ]
    const sorted = log.map((one, at) => ({ ...one, position: at + 1 }))
    const messages = conversationOf(
      sorted,
      order(
        new Map([
          [span.id, [block('a/one')]],
          [other.id, [block('b/two')]],
        ]),
      ),
    )
    expect(
      messages.map((message) => [message.role, message.role === 'assistant' ? message.reasoning.length : null]),
    ).toEqual([
      ['system', null],
      ['user', null],
      ['assistant', 1],
      ['user', null],
      ['assistant', 0],
    ])
  })

  test('excludes failed answers and queued events, and gives every call a result', () => {
    const use = event('agent.tool_use', { name: 'bash', input: { command: 'ls' } })
    const log = [
      event('user.message', text('hi')),
      event('span.model_request_start'),
      event('span.model_request_end', { is_error: true }),
      event('span.model_request_start'),
      use,
      { ...event('user.message', text('later')), processedAt: null },
    ]
    const sorted = log.map((one, at) => ({ ...one, position: at + 1 }))
    expect(
      conversationOf(sorted, order())
        .slice(1)
        .map((message) => (message.role === 'tool' ? [message.role, message.isError] : [message.role])),
    ).toEqual([['user'], ['assistant'], ['tool', true]])
  })

  test('has truncated results before a compaction, except the newest', () => {
    const uses = Array.from({ length: 8 }, () => event('agent.tool_use', { name: 'bash', input: {} }))
    const rounds = uses.flatMap((use) => [
      event('span.model_request_start'),
      use,
      event('agent.tool_result', text('y'.repeat(1000)), use.id),
    ])
    const sorted = [event('user.message', text('hi')), ...rounds].map((one, at) => ({ ...one, position: at + 1 }))
    expect(canCompact(sorted)).toBe(true)
    const compacted = [...sorted, { ...event('agent.thread_context_compacted'), position: sorted.length + 1 }]
    expect(canCompact(compacted)).toBe(false)
    const lengths = (log: TurnEvent[]): number[] =>
      conversationOf(log, order()).flatMap((message) => (message.role === 'tool' ? [message.text.length] : []))
    expect(lengths(sorted)).toEqual(uses.map(() => 1000))
    expect(lengths(compacted).map((length) => length < 400)).toEqual([
      true,
      true,
      ...Array.from({ length: 6 }, () => false),
    ])
  })
})

test('both ends of an output are kept, however long it is', () => {
  const kept = keepEnds()
  let offset = 0
  for (let line = 0; line < 200_000; line++) {
    const printed = `line ${line}\n`
    kept.add(offset, printed)
    offset += printed.length
  }
  kept.add(offset + 10, 'end')
  const text = kept.text()
  expect(text.length).toBeLessThan(170_000)
  expect(text).toMatch(/^line 0\nline 1\n/)
  expect(text).toMatch(/characters were left out/)
  expect(text).toMatch(/line 199999\n\n\[… 10 bytes were not kept …\]\nend$/)
})

test('text that Postgres cannot store is made storable wherever it is', () => {
  expect(storable({ 'a\0': ['x\ud800', { b: 1, c: null }], d: 'ü\\u0000' })).toEqual({
    'a\u{fffd}': ['x\u{fffd}', { b: 1, c: null }],
    d: 'ü\\u0000',
  })
})
