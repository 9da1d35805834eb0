import type { Browser, Locator, Page } from 'playwright-core'
import { Kind, NoDeprecatedCustomRule, parse, specifiedRules, validate } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { schema } from '#schema/schema.ts'
import { tabs } from '#src/gateway/graphiql-tabs.ts'
import { measureOperation, refuseLarge } from '#src/gateway/operation-size.ts'
import { pollUntil } from '#src/start/wait.ts'
import { launchChromium } from '../support/browser/chromium.ts'
import { startApp, type RunningApp } from './running-app.ts'

let running: RunningApp
let withoutSignIn: RunningApp
let browser: Browser
beforeAll(async () => {
  running = await startApp({ schema })
  withoutSignIn = await startApp({ schema, settings: { BERTH_LOCAL_SIGN_IN: 'off' } })
  browser = await launchChromium()
})
afterAll(async () => {
  await browser.close()
  await running.stop()
  await withoutSignIn.stop()
})

/** A page that reaches this machine only; whatever else it asks for is noted. */
async function offlinePage(
  viewport = { width: 1280, height: 800 },
): Promise<{ page: Page; outside: string[]; problems: string[] }> {
  const page = await (await browser.newContext({ viewport })).newPage()
  const outside: string[] = []
  const problems: string[] = []
  await page.route('**/*', (route) => {
    const { hostname, href, protocol } = new URL(route.request().url())
    if (['localhost', '127.0.0.1'].includes(hostname) || protocol === 'blob:' || protocol === 'data:')
      return route.continue()
    outside.push(href)
    return route.abort()
  })
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  return { page, outside, problems }
}

/** What a hand does: moves the pointer there, presses and releases it, whatever is under it then. */
async function pointAt(page: Page, what: Locator): Promise<void> {
  await what.scrollIntoViewIfNeeded()
  const box = await what.boundingBox()
  if (!box) throw new Error('it is not shown')
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
  await page.mouse.move(x - 5, y + 40)
  await page.mouse.move(x, y, { steps: 5 })
  await page.mouse.down()
  await page.mouse.up()
}

describe('the page at /graphql', () => {
  it('gives a newcomer a token and an answer, with no internet', async () => {
    const { page, outside, problems } = await offlinePage()
    await page.goto(`http://localhost:${running.port}/graphql`)
    await page.getByRole('button', { name: 'Get a token' }).click()
    await page.getByText('Signed in as alice in acme (owner)').waitFor()
    await page.locator('.graphiql-execute-button').click()
    await page.locator('.result-window').getByText('"acme"').waitFor()
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click()
    await page.locator('.graphiql-doc-explorer').getByText('Mutation').first().waitFor() // the schema came with the token
    expect(await page.evaluate('Object.values(localStorage).join()')).not.toContain('eyJ')
    await page.reload()
    await page.getByText('Signed in as alice').waitFor()
    expect([outside, problems]).toEqual([[], []])
  })

  it('without a token says how to get one in place of an answer', async () => {
    const { page } = await offlinePage()
    await page.goto(`http://localhost:${running.port}/graphql`)
    await page.locator('.graphiql-execute-button').click()
    await page.locator('.result-window').getByText('Get a token').waitFor()
    await page.locator('#berth-problem').getByText('Press "Get a token" in the bar above').waitFor()
  })

  it.each([
    [1400, 900],
    [1024, 768],
    [390, 844],
  ])('plays its tabs by one click on each and one on play, at %i by %i', async (width, height) => {
    const { page, problems } = await offlinePage({ width, height })
    await page.goto(`http://localhost:${running.port}/graphql`)
    await pointAt(page, page.getByRole('button', { name: 'Get a token' }))
    await page.getByText('Signed in as alice').waitFor()
    const result = page.locator('.result-window')
    const play = async (name: string): Promise<void> => {
      await pointAt(page, page.locator('.graphiql-tab-button').getByText(name, { exact: true }))
      expect(await page.locator('.graphiql-tab-active').textContent()).toContain(name)
      await pointAt(page, page.getByRole('button', { name: /^Execute query/ }))
    }
    const sent = async (name: string, field: string): Promise<void> => {
      const isSent = (url: string): boolean => decodeURIComponent(url).includes(field)
      const [request] = await Promise.all([page.waitForRequest((one) => isSent(one.url())), play(name)])
      expect(decodeURIComponent(request.url())).toMatch(/Id:"[a-z]+_[0-9a-z]{26}"/)
      await pointAt(page, page.getByRole('button', { name: /^Stop query/ }))
    }
    await play('Chat')
    await result.getByText('"STOP"').waitFor()
    await play('Session')
    await result.getByText('sesn_').waitFor()
    await sent('SessionLog', 'sessionEvents(')
    await play('Build')
    await result.getByText('"QUEUED"').waitFor()
    await sent('BuildLog', 'buildLogEvents(')
    await play('Welcome')
    await result.getByText('"acme"').waitFor()
    expect(problems).toEqual([])
  })

  it('opens with its tabs, and keeps what was written over every reload', async () => {
    const { page, problems } = await offlinePage()
    const editor = page.locator('.graphiql-query-editor .view-lines')
    const shown = page.locator('.graphiql-tabs .graphiql-tab')
    await page.goto(`http://localhost:${running.port}/graphql`)
    await editor.getByText('Welcome to Berth!').waitFor()
    for (let reload = 1; reload <= 3; reload++) {
      await page.reload()
      await editor.getByText('Welcome to Berth!').waitFor()
      expect([reload, await shown.count()]).toEqual([reload, tabs.length])
    }
    await editor.click()
    await page.keyboard.press('Control+A')
    await page.keyboard.insertText('query Mine { __typename }')
    const isKept = async (): Promise<boolean> =>
      String(await page.evaluate('localStorage.getItem("graphiql:tabState")')).includes('query Mine')
    expect(await pollUntil(isKept, { limitMs: 5_000, everyMs: 50 })).toBe(true)
    for (let reload = 1; reload <= 2; reload++) {
      await page.reload()
      await editor.getByText('query Mine').waitFor()
      expect([reload, await shown.count()]).toEqual([reload, tabs.length])
    }
    expect(problems).toEqual([])
  }, 60_000)

  it('mends what an earlier reload left: tabs without any text', async () => {
    const { page } = await offlinePage()
    const empty = {
      id: 'x',
      hash: null,
      title: '<untitled>',
      query: null,
      variables: null,
      headers: null,
      operationName: null,
      response: null,
    }
    await page.goto(`http://localhost:${running.port}/healthz`)
    await page.evaluate(
      (state) =>
        (globalThis as unknown as { localStorage: { setItem(key: string, text: string): void } }).localStorage.setItem(
          'graphiql:tabState',
          state,
        ),
      JSON.stringify({ tabs: [empty, empty], activeTabIndex: 1 }),
    )
    await page.goto(`http://localhost:${running.port}/graphql`)
    await page.locator('.graphiql-query-editor .view-lines').getByText('Welcome to Berth!').waitFor()
  })

  it('follows a subscription with the same token', async () => {
    const { page, problems } = await offlinePage()
    const query = encodeURIComponent('subscription { vmEvents(id: "vm_01m7xwdcq3ftsrck8w2tcdz3c7") { __typename } }')
    await page.goto(`http://localhost:${running.port}/graphql?query=${query}`)
    await page.getByRole('button', { name: 'Get a token' }).click()
    await page.getByText('Signed in as alice').waitFor()
    await page.locator('.graphiql-execute-button').click()
    await page.locator('.result-window').getByText('NOT_FOUND').waitFor() // who is not signed in is told UNAUTHORIZED
    expect(problems).toEqual([])
  })

  it('says what is wrong when a token cannot be created', async () => {
    const { page } = await offlinePage()
    await page.goto(`http://localhost:${running.port}/graphql`)
    await page.locator('#berth-bar input[name=user]').fill('   ')
    await page.getByRole('button', { name: 'Get a token' }).click()
    await page.getByText('The user must be a name of 1 to 255 characters.').waitFor()
  })

  it('asks for the code that the start printed when it is refused, and takes it from the link without leaving it in the address', async () => {
    const { page } = await offlinePage()
    const sent: string[] = []
    await page.route('**/identity/token', async (route) => {
      sent.push((route.request().postDataJSON() as { code: string }).code)
      await route.fulfill({ status: 403, json: { error: 'sign_in_code_required', message: 'Give the code.' } })
    })
    await page.goto(`http://localhost:${running.port}/graphql?code=from-the-link`)
    expect(await page.evaluate('location.href')).not.toContain('code')
    await page.getByRole('button', { name: 'Get a token' }).click()
    await page.getByText('Give the code.').waitFor()
    await page.locator('#berth-bar input[name=code]').fill('typed')
    await Promise.all([
      page.waitForResponse('**/identity/token'),
      page.getByRole('button', { name: 'Get a token' }).click(),
    ])
    expect(sent).toEqual(['from-the-link', 'typed'])
  })

  it('where there is no local sign-in, says how to get a token and takes one', async () => {
    const { page } = await offlinePage()
    await page.goto(`http://localhost:${withoutSignIn.port}/graphql`)
    await page.getByText('npm run -s token -- --user alice --org acme --role owner').waitFor()
    await page.getByLabel('Token', { exact: true }).fill(await withoutSignIn.token('bob', 'other'))
    await page.getByRole('button', { name: 'Use it' }).click()
    await page.locator('.graphiql-execute-button').click()
    await page.locator('.result-window').getByText('"other"').waitFor()
  })

  it('is for browsers, is not framed, and comes small and once', async () => {
    const answer = await fetch(`${running.url}/graphql`, { headers: { accept: 'text/html' } })
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('content-encoding')).toMatch(/^(?:br|gzip)$/)
    expect([answer.headers.get('x-frame-options'), answer.headers.get('content-security-policy')]).toEqual([
      'DENY',
      expect.stringContaining("frame-ancestors 'none'"),
    ])
    const again = await fetch(`${running.url}/graphql`, {
      headers: { accept: 'text/html', 'if-none-match': answer.headers.get('etag') ?? '' },
    })
    expect([again.status, await again.text()]).toEqual([304, ''])
    const plain = await fetch(`${running.url}/graphql`, {
      headers: { accept: 'text/html', 'accept-encoding': 'identity' },
    })
    expect((await plain.text()).length).toBeGreaterThan(8_000_000)
    expect((await fetch(`${running.url}/graphql?query=%7B__typename%7D`)).headers.get('content-type')).toContain('json')
  })
})

describe('the prepared tabs', () => {
  it('fit the schema and stay within the limits, each of their operations', () => {
    expect(tabs).toHaveLength(7)
    for (const tab of tabs) {
      const document = parse(tab)
      expect([
        tab,
        validate(schema, document, [...specifiedRules, NoDeprecatedCustomRule]).map((problem) => problem.message),
      ]).toEqual([tab, []])
      for (const operation of document.definitions) {
        if (operation.kind !== Kind.OPERATION_DEFINITION) throw new Error('a tab has operations only')
        refuseLarge(measureOperation(schema, document, operation, {}))
      }
    }
  })
})
