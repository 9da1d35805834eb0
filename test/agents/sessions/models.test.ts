/** The loop against providers with their faults: tries again, gives up, replays reasoning, compacts; and against tool servers. */
import { mcpToolResult } from '#src/resources/agents/mcp-tools/results.ts'
import { answered } from '#src/resources/agents/tools/results.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { chatBody } from '#src/drivers/models/chat-bodies.ts'
import type { UpstreamTarget } from '#src/drivers/models/model.ts'
import { requestOf } from '#workers/agents/model-steps.ts'
import { startMockBerth, type MockBerth } from '../../llm/mock-berth.ts'
import { agentSessions, results, textOf, types, type AgentSessions } from '../../support/agent-sessions.ts'
import type { Berth } from '../../support/berth.ts'
import { startMcpServer, type TestMcpServer } from '../../support/mcp-server.ts'
import type { MockUpstream } from '../../support/mock-upstream.ts'
import { freePort } from '../../support/ports.ts'

let berth: Berth
let mock: MockUpstream
let tools: TestMcpServer
let gone: string
let stop: MockBerth['stop']
let token: string
let sessions: AgentSessions
let vault: string
beforeAll(async () => {
  tools = await startMcpServer((given) => given === 'right-token')
  gone = `127.0.0.1:${await freePort()}`
  ;({ berth, mock, stop } = await startMockBerth({ BERTH_PRIVATE_HOSTS: `${tools.hostPort},${gone}` }))
  token = await berth.token()
  sessions = agentSessions(berth, token)
  vault = (await berth.call<{ id: string }>('POST', '/agents/v1/vaults', { token, body: { display_name: 'tools' } }))
    .body.id
  await berth.call('POST', `/agents/v1/vaults/${vault}/credentials`, {
    token,
    body: { display_name: 'it', auth: { type: 'static_bearer', mcp_server_url: tools.url, token: 'right-token' } },
  })
})
afterAll(async () => {
  await stop?.()
  await tools?.close()
})
beforeEach(() => mock.forget())

describe('a failure of the model', () => {
  test('that is temporary is retried after a second', async () => {
    mock.script({ status: 529, body: '{}' }, { status: 529, body: '{}' }, { parts: [{ text: 'here' }] })
    const log = await sessions.rested(await sessions.begin(await sessions.agent({ model: 'test/signed' }), 'hello'))
    expect(types(log)).toEqual([
      'user.message',
      'session.status_running',
      'span.model_request_start',
      'span.model_request_end',
      'session.error',
      'session.status_rescheduled',
      'session.status_running',
      'span.model_request_start',
      'agent.message',
      'span.model_request_end',
      'session.usage',
      'session.status_idle',
    ])
    expect(log[3]).toMatchObject({ is_error: true })
    expect(log[4]).toMatchObject({ error: { type: 'model_overloaded_error', retry_status: { type: 'retrying' } } })
  })

  test('in the middle of an answer loses that answer only', async () => {
    mock.script({ parts: [{ text: 'half of it' }, { cut: true }] }, { parts: [{ text: 'whole' }] })
    const log = await sessions.rested(await sessions.begin(await sessions.agent({ model: 'test/plain' }), 'hello'))
    expect(log.filter(({ type }) => type === 'agent.message').map(textOf)).toEqual(['whole'])
  })

  test('that is permanent ends the turn, and the next message starts another', async () => {
    mock.script({ status: 400, body: JSON.stringify({ error: { message: 'no', type: 'invalid_request_error' } }) })
    const id = await sessions.begin(await sessions.agent({ model: 'test/plain' }), 'hello')
    const log = await sessions.rested(id)
    expect(log.at(-1)).toMatchObject({ stop_reason: { type: 'retries_exhausted' } })
    expect(log.findLast(({ type }) => type === 'session.error')).toMatchObject({
      error: { type: 'model_request_failed_error', retry_status: { type: 'exhausted' } },
    })
    await sessions.say(id, 'again')
    await expect
      .poll(async () => textOf((await sessions.log(id)).findLast(({ type }) => type === 'agent.message')))
      .toContain('again')
  })

  test('for lack of money is reported as such', async () => {
    const log = await sessions.rested(await sessions.begin(await sessions.agent({ model: 'test/dear' }), 'hello'))
    expect(log.findLast(({ type }) => type === 'session.error')).toMatchObject({
      error: { type: 'billing_error', retry_status: { type: 'exhausted' } },
    })
    expect(mock.requests).toHaveLength(0)
  })
})

const custom = (name: string): object => ({ type: 'custom', name, description: 'x', input_schema: { type: 'object' } })

test('reasoning goes back to the model that made it, exactly as it was, before its calls', async () => {
  mock.script(
    {
      parts: [
        { reasoning: 'let me see', signature: 'c2lnbmVk' },
        { text: 'I look' },
        { tool: 'look', arguments: '{}' },
      ],
    },
    { parts: [{ text: 'seen' }] },
  )
  const id = await sessions.begin(
    await sessions.agent({ model: { id: 'test/signed', effort: 'low' }, tools: [custom('look')] }),
    'hello',
  )
  const use = (await sessions.rested(id)).find(({ type }) => type === 'agent.custom_tool_use')
  await sessions.send(id, {
    type: 'user.custom_tool_result',
    custom_tool_use_id: use?.id,
    content: [{ type: 'text', text: 'a tree' }],
  })
  const request = await mock.request(1)
  const [, assistant, answer] = request.body['messages'] as { role: string; content: Record<string, unknown>[] }[]
  expect(assistant?.content).toEqual([
    { type: 'thinking', thinking: 'let me see', signature: 'c2lnbmVk' },
    { type: 'text', text: 'I look' },
    { type: 'tool_use', id: use?.id, name: 'look', input: {} },
  ])
  expect(answer?.content).toEqual([{ type: 'tool_result', tool_use_id: use?.id, content: 'a tree' }])
  expect(JSON.stringify(await sessions.rested(id))).not.toContain('let me see')
})

test('a conversation that grows too long loses its older results, and says so once', async () => {
  const rounds = 9
  const id = await sessions.begin(await sessions.agent({ model: 'test/plain', tools: [custom('look')] }), 'hello')
  await sessions.rested(id)
  mock.forget()
  mock.script(...Array.from({ length: rounds }, () => ({ parts: [{ tool: 'look', arguments: '{}' }] })), {
    parts: [{ text: 'done' }],
  })
  await sessions.say(id, 'look around')
  for (let round = 0; round < rounds; round++) {
    const request = await mock.request(round)
    await request.ended
    const use = (await sessions.rested(id)).findLast(({ type }) => type === 'agent.custom_tool_use')
    await sessions.send(id, {
      type: 'user.custom_tool_result',
      custom_tool_use_id: use?.id,
      content: [{ type: 'text', text: `${round} ${'x'.repeat(35_000)}` }],
    })
  }
  const last = await mock.request(rounds)
  const log = await sessions.rested(id)
  expect(types(log).filter((type) => type === 'agent.thread_context_compacted')).toHaveLength(1)
  expect(last.bodyText).toContain('Cut to save room: this result had 35002 characters')
  expect(last.bodyText.length).toBeLessThan(8 * 35_000)
})

test('a page that the agent may not reach is not fetched, and the model is told so', async () => {
  const agent = await sessions.agent({
    tools: [
      { type: 'agent_toolset_20260401', configs: [{ name: 'web_fetch', allowed_domains: ['docs.example.com'] }] },
    ],
  })
  const log = await sessions.rested(await sessions.begin(agent, `!tool web_fetch {"url":"${tools.url}"}\n!say done`))
  expect(results(log)).toEqual([
    { text: 'This agent may only reach these domains and their subdomains: docs.example.com.', isError: true },
  ])
})

describe('tool servers', () => {
  const agentWith = (url: string, policy: string): Promise<string> =>
    sessions.agent({
      mcp_servers: [{ type: 'url', name: 'sums', url }],
      tools: [
        { type: 'mcp_toolset', mcp_server_name: 'sums', default_config: { permission_policy: { type: policy } } },
      ],
    })

  test('are listed once in a turn and called with the session’s credential', async () => {
    tools.tokens.length = 0
    const id = await sessions.begin(
      await agentWith(tools.url, 'always_allow'),
      '!tool mcp__sums__add {"a":1,"b":2}\n!tool mcp__sums__add {"a":3,"b":4}\n!tool mcp__sums__add {"a":"x"}\n!say done',
      { vault_ids: [vault] },
    )
    const log = await sessions.rested(id)
    expect(log.find(({ type }) => type === 'agent.mcp_tool_use')).toMatchObject({
      mcp_server_name: 'sums',
      name: 'add',
      input: { a: 1, b: 2 },
      evaluated_permission: 'allow',
    })
    expect(results(log)).toEqual([
      { text: '3', isError: false },
      { text: '7', isError: false },
      { text: expect.stringContaining('do not match'), isError: true },
    ])
    expect(new Set(tools.tokens)).toEqual(new Set(['right-token']))
    expect(textOf(log.findLast(({ type }) => type === 'agent.message'))).toBe('done')
  })

  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(40)]).toString('base64')
  const show = async (
    model: string,
    shows: TestMcpServer['shows'],
  ): Promise<{
    event: Record<string, unknown> | undefined
    asked: Record<string, unknown>
    useId: string | undefined
  }> => {
    tools.shows = shows
    mock.forget()
    mock.script(
      {
        parts: [
          { tool: 'mcp__sums__show', arguments: '{}' },
          { tool: 'mcp__sums__add', arguments: '{"a":1,"b":2}' },
        ],
      },
      { parts: [{ text: 'seen' }] },
    )
    const agent = await sessions.agent({
      model,
      mcp_servers: [{ type: 'url', name: 'sums', url: tools.url }],
      tools: [
        {
          type: 'mcp_toolset',
          mcp_server_name: 'sums',
          default_config: { permission_policy: { type: 'always_allow' } },
        },
      ],
    })
    const log = await sessions.rested(await sessions.begin(agent, 'look', { vault_ids: [vault] }))
    const useId = log.find(({ type, name }) => type === 'agent.mcp_tool_use' && name === 'show')?.id
    return {
      event: log.find((event) => event['mcp_tool_use_id'] === useId),
      asked: (await mock.request(1)).body,
      useId,
    }
  }
  const picture = {
    content: [
      { type: 'text' as const, text: 'a chart:' },
      { type: 'image' as const, data: png, mimeType: 'image/jpeg' },
    ],
  }
  const source = { type: 'base64', media_type: 'image/png', data: png }

  test('show images to models that see them, in the form of each wire format', async () => {
    const { event, asked, useId } = await show('test/signed', picture)
    expect(event).toMatchObject({
      type: 'agent.mcp_tool_result',
      content: [
        { type: 'text', text: 'a chart:' },
        { type: 'image', source },
      ],
      is_error: false,
    })
    const [result] = (asked['messages'] as { content: object[] }[]).at(-1)?.content ?? []
    expect(result).toEqual({
      type: 'tool_result',
      tool_use_id: useId,
      content: [
        { type: 'text', text: 'a chart:\n[image]' },
        { type: 'image', source },
      ],
    })
    const sealed = await show('test/sealed', picture)
    expect(
      (sealed.asked['input'] as object[]).find(
        (item) => 'call_id' in item && item.call_id === sealed.useId && 'output' in item,
      ),
    ).toMatchObject({
      output: [
        { type: 'input_text', text: 'a chart:\n[image]' },
        { type: 'input_image', image_url: `data:image/png;base64,${png}` },
      ],
    })
    const plain = await show('test/plain', picture)
    expect((plain.asked['messages'] as { role: string }[]).slice(-3)).toEqual([
      { role: 'tool', tool_call_id: plain.useId, content: 'a chart:\n[image]' },
      { role: 'tool', tool_call_id: expect.any(String), content: '3' },
      {
        role: 'user',
        content: [
          { type: 'text', text: `Images in the result of ${plain.useId}:` },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
        ],
      },
    ])
  })

  test('describe what cannot be shown, and return resources and links as text', async () => {
    const { event, asked } = await show('test/doubled', {
      content: [
        { type: 'image', data: png, mimeType: 'image/png' },
        { type: 'image', data: Buffer.from('no image').toString('base64'), mimeType: 'image/png' },
        { type: 'audio', data: Buffer.from('la la').toString('base64'), mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'inside it' } },
        {
          type: 'resource',
          resource: { uri: 'file:///b.zip', mimeType: 'application/zip', blob: Buffer.from('zip').toString('base64') },
        },
        { type: 'resource', resource: { uri: 'file:///c.png', blob: png } },
        { type: 'resource_link', uri: 'https://example.com/doc', name: 'The manual' },
        { type: 'text', text: 'y'.repeat(40_000) },
      ],
    })
    const words = [
      '[An image of the type image/png and 8 bytes, which cannot be shown here.]',
      '[A sound of the type audio/wav and 5 bytes, which cannot be shown here.]',
      'file:///a.txt\ninside it',
      '[The resource file:///b.zip of the type application/zip and 3 bytes, which cannot be shown here.]',
    ]
    const content = (event as { content: { type: string; text?: string }[] }).content
    expect(content.slice(0, 7)).toEqual([
      { type: 'image', source },
      ...words.map((text) => ({ type: 'text', text })),
      { type: 'image', source },
      { type: 'text', text: 'The manual: https://example.com/doc' },
    ])
    expect(content[7]?.text).toMatch(/^y{29000,}\n\[Cut: this is the beginning, of 40000 characters\.\]$/)
    const told =
      (asked['messages'] as { role: string; content: string }[]).find(({ role }) => role === 'tool')?.content ?? ''
    expect(told).toContain(`[An image, which this model cannot see.]\n${words.join('\n')}`)
    expect(JSON.stringify(asked)).not.toContain(png)
  })

  const pdf = Buffer.from('%PDF-1.7\n%%EOF\n').toString('base64')
  const papers = {
    content: [
      { type: 'resource' as const, resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: pdf } },
      {
        type: 'resource' as const,
        resource: { uri: 'file:///a.json', mimeType: 'application/json', blob: btoa('{"a":1}') },
      },
      {
        type: 'resource_link' as const,
        uri: 'https://example.com/doc',
        name: 'manual',
        title: 'The manual',
        description: 'How it is done.',
        mimeType: 'text/html',
        size: 12,
      },
    ],
  }

  test('show documents to models that read them, in the form of each wire format', async () => {
    const { event, asked, useId } = await show('test/signed', papers)
    const words = [
      'file:///a.json\n{"a":1}',
      'The manual: https://example.com/doc (text/html, 12 bytes)\nHow it is done.',
    ]
    const pdfSource = { type: 'base64', media_type: 'application/pdf', data: pdf }
    expect(event?.['content']).toEqual([
      { type: 'document', source: pdfSource, title: 'file:///a.pdf', context: null },
      ...words.map((text) => ({ type: 'text', text })),
    ])
    const [result] = (asked['messages'] as { content: object[] }[]).at(-1)?.content ?? []
    expect(result).toEqual({
      type: 'tool_result',
      tool_use_id: useId,
      content: [
        { type: 'text', text: `[document file:///a.pdf]\n${words.join('\n')}` },
        { type: 'document', source: pdfSource, title: 'file:///a.pdf' },
      ],
    })
    const sealed = await show('test/sealed', papers)
    expect(
      (sealed.asked['input'] as object[]).find(
        (item) => 'call_id' in item && item.call_id === sealed.useId && 'output' in item,
      ),
    ).toMatchObject({
      output: [
        { type: 'input_text' },
        { type: 'input_file', filename: 'file:///a.pdf', file_data: `data:application/pdf;base64,${pdf}` },
      ],
    })
    const blind = await show('test/plain', papers)
    expect(JSON.stringify(blind.asked)).toContain('[A PDF, which this model cannot read.]')
    expect(JSON.stringify(blind.asked)).not.toContain(pdf)
  })

  test('show no document that is cut short, which a model would refuse in every later request too', async () => {
    const blob = Buffer.from('%PDF-1.7\n').toString('base64')
    const resource = { uri: 'file:///cut.pdf', mimeType: 'application/pdf', blob }
    const text = '[The resource file:///cut.pdf of the type application/pdf and 9 bytes, which cannot be shown here.]'
    expect(await mcpToolResult({ content: [{ type: 'resource', resource }] })).toEqual(answered(text))
  })

  test('show documents in chat completions after the results of the round', () => {
    const files = [{ type: 'file', filename: 'a.pdf', mediaType: 'application/pdf', data: pdf }] as const
    const target = { upstreamModel: 'x', reasoningReplay: 'none' } as UpstreamTarget // all that matters to messages
    const { messages } = chatBody(
      target,
      requestOf([{ role: 'tool', toolCallId: 'call', text: '[document]', isError: false, files }], [], null, null),
    ) as { messages: object[] }
    expect(messages).toEqual([
      { role: 'tool', tool_call_id: 'call', content: '[document]' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Images and files in the result of call:' },
          { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
        ],
      },
    ])
  })

  test('are asked for by default', async () => {
    const id = await sessions.begin(
      await sessions.agent({
        mcp_servers: [{ type: 'url', name: 'sums', url: tools.url }],
        tools: [{ type: 'mcp_toolset', mcp_server_name: 'sums' }],
      }),
      '!tool mcp__sums__add {"a":1,"b":2}',
      { vault_ids: [vault] },
    )
    const use = (await sessions.rested(id)).find(({ type }) => type === 'agent.mcp_tool_use')
    expect(use).toMatchObject({ evaluated_permission: 'ask' })
    await sessions.send(id, { type: 'user.tool_confirmation', tool_use_id: use?.id, result: 'allow' })
    await expect.poll(async () => results(await sessions.log(id))).toEqual([{ text: '3', isError: false }])
  })

  test('that cannot be reached, or require another credential, are errors of the session, which continues', async () => {
    const unreached = await sessions.rested(
      await sessions.begin(await agentWith(`http://${gone}/mcp`, 'always_allow'), '!say still here'),
    )
    expect(unreached.find(({ type }) => type === 'session.error')).toMatchObject({
      error: { type: 'mcp_connection_failed_error', mcp_server_name: 'sums', retry_status: { type: 'retrying' } },
    })
    expect(textOf(unreached.findLast(({ type }) => type === 'agent.message'))).toBe('still here')
    const refused = await sessions.rested(
      await sessions.begin(await agentWith(tools.url, 'always_allow'), '!say still here'),
    )
    expect(refused.find(({ type }) => type === 'session.error')).toMatchObject({
      error: { type: 'mcp_authentication_failed_error', retry_status: { type: 'exhausted' } },
    })
    expect(refused.at(-1)).toMatchObject({ stop_reason: { type: 'end_turn' } })
  })
})
