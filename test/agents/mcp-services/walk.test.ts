/** The walk of docs/connectors.md, run as it is printed; a person signs in where the document says so. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { passBy, startConnectorWorld, type ConnectorWorld } from '../../support/connectors/world.ts'
import { paste, shellBlocks } from '../../support/paste.ts'

let world: ConnectorWorld
beforeAll(async () => {
  world = await startConnectorWorld(
    {},
    { worker: true, more: (url, open) => `  linear: {url: "${url}"}\n  deepwiki: {url: "${open}"}\n` },
  )
})
afterAll(() => world?.stop())

test('a service is connected, chosen from, used by an agent and disconnected, as docs/connectors.md prints it', async () => {
  const url = world.berth.services.config.publicUrl
  world.open.shows = { content: [{ type: 'text', text: 'from the open service' }] }
  const blocks = shellBlocks('docs/connectors.md').map((block) =>
    block.replace(/read_wiki_structure \{.*?\}/, 'show {}'),
  )
  const [listed, , read, started] = await paste(blocks.slice(0, 4), { url, env: { TOKEN: world.token } })
  expect(JSON.parse(listed ?? '')).toMatchObject({
    data: [{ id: 'linear', connected: false }, {}, {}, {}, {}, {}, {}, {}, {}],
  })
  expect(read).toContain('from the open service')
  const { authorization_url: authorizationUrl } = JSON.parse(started ?? '') as { authorization_url: string }
  const back = await passBy(await world.authority.visit(authorizationUrl))
  expect(back.href.startsWith(`${url}/docs?code=`)).toBe(true)
  world.tools.shows = { content: [{ type: 'text', text: 'from the service' }] }
  const [completed, tools, , streamed, deleted] = await paste(blocks.slice(4), {
    url,
    env: {
      TOKEN: world.token,
      CODE: back.searchParams.get('code') ?? '',
      STATE: back.searchParams.get('state') ?? '',
      TOOL: 'show',
    },
  })
  expect(JSON.parse(completed ?? '')).toEqual({ id: 'linear', connected: true })
  expect(tools).toMatch(
    /"name":"show".*"disabled_tools":\[\],"error":null\}.*\{"id":"linear","disabled_tools":\["delete_issue"\]\}/s,
  )
  expect(streamed).toContain('from the service')
  expect(streamed).toContain('"text":"Done."')
  expect(deleted?.trim()).toBe('')
  expect((await world.services())['linear']).toMatchObject({ connected: false })
})
