/**
 * The tabs that GraphiQL opens with: they run as they are, one after the other. A tab that needs an id from an earlier
 * tab has a placeholder such as `bld_latest`, which the page replaces by the newest id of that kind that it has
 * received.
 */

/** The prepared tabs, each with one operation, which names the tab. */
export const tabs: readonly string[] = [
  `# Welcome to Berth!
# 1. Get a token in the bar above.
# 2. Press the play button (Ctrl-Enter).
# The tabs beside this one run as they are, too.
query Welcome {
  viewer {
    user { name }
    organization { id name }
    role
  }
  vms(first: 5) {
    nodes { id name status createdAt }
  }
}
`,
  `# Python in a microVM of its own, which deletes itself.
mutation Sandbox {
  runSandbox(input: {
    language: "python"
    code: "print(sum(range(10)))"
    ttlSeconds: 60
  }) {
    sandbox {
      command { stdout stderr exitCode }
      vm { id expiresAt }
    }
  }
}
`,
  `# A model that is built in, costs nothing, and does
# not think. 'models' lists the other models.
subscription Chat {
  chatCompletionEvents(input: {
    model: "berth/demo"
    messages: [{ user: { content: { text: "Hello!" } } }]
  }) {
    ... on ChatCompletionEvent {
      text
      finishReason
      usage { inputTokens outputTokens }
    }
  }
}
`,
  `# A build. It clones from the internet.
mutation Build {
  createBuild(input: {
    organizationId: "org_latest"
    repoUrl: "https://github.com/octocat/Hello-World"
    spec: { commands: ["ls -l", "cat README"] }
  }) {
    build { id status }
  }
}
`,
  `# The log of the newest build.
subscription BuildLog {
  buildLogEvents(buildId: "bld_latest", after: "0") {
    ... on BuildLogEntry { output isDone }
  }
}
`,
  `# A session with an agent. It starts immediately.
mutation Session {
  createRun(input: { mode: CHAT, input: "Hello!" }) {
    sessionId
  }
}
`,
  `# The events of the newest session.
subscription SessionLog {
  sessionEvents(sessionId: "sesn_latest", replay: true) {
    ... on SessionEmission {
      event { type createdAt ... on AgentMessage { content { ... on TextBlock { text } } } }
    }
  }
}
`,
]

/** The script that prepares the tabs; it runs before the bar's script, and that before GraphiQL. */
export function tabsScript(): string {
  return `<script>(${prepareTabs.toString()})(${JSON.stringify(tabs)});(${fillLatest.toString()})();(${holdPlay.toString()})()</script>`
}

/** Runs in the browser, as text, so it must not use anything from outside itself. */
function prepareTabs(queries: readonly string[]): void {
  type Tab = { query: string | null; variables: string | null; headers: string | null }
  type Storage = {
    getItem(key: string): string | null
    setItem(key: string, value: string): void
    removeItem(key: string): void
  }
  type Browser = {
    localStorage: Storage
    location: { href: string }
  }
  const page = globalThis as unknown as Browser // a browser, which this project's types do not know
  const key = 'graphiql:tabState'

  /**
   * GraphiQL stores the text of the active tab beside its tabs, looks for a tab with that text, and opens an empty one
   * if there is none. But it stores the text only after something was typed. So before it looks, this sets the text to
   * that of the active tab, and removes tabs without text. If nothing is stored, the prepared tabs are.
   */
  const mendTabs = (storage: Storage): void => {
    const asked = new URL(page.location.href).searchParams.get('query')
    const state = JSON.parse(storage.getItem(key) ?? 'null') as { tabs: Tab[]; activeTabIndex: number } | null
    const open = state?.tabs[state.activeTabIndex]
    const kept = (state?.tabs ?? []).filter(({ query, variables, headers }) => query || variables || headers)
    const made = kept.length > 0 || asked ? kept : queries.map(preparedTab)
    const shown = made.find((tab) => tab === open) ?? (kept.length > 0 ? made.at(-1) : made[0])
    if (!shown) return storage.removeItem(key)
    storage.setItem(key, JSON.stringify({ ...state, tabs: made, activeTabIndex: made.indexOf(shown) }))
    if (asked && asked !== shown.query) return
    for (const name of ['query', 'variables', 'headers'] as const) {
      const text = shown[name]
      if (text) storage.setItem(`graphiql:${name}`, text)
      else storage.removeItem(`graphiql:${name}`)
    }
  }
  const preparedTab = (query: string, index: number): Tab & Record<string, unknown> => {
    const name = /^(?:query|mutation|subscription) (\w+)/m.exec(query)?.[1] ?? ''
    return {
      id: `berth-${index}`,
      hash: null,
      title: name,
      query,
      variables: null,
      headers: null,
      operationName: name,
      response: null,
    }
  }
  try {
    mendTabs(page.localStorage)
  } catch {
    page.localStorage.removeItem(key) // not in GraphiQL's format; it would not read it either
  }
}

/** Also runs in the browser, as text: inserts the newest ids into GraphiQL's requests. */
function fillLatest(): void {
  type Browser = {
    sessionStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void }
    location: { href: string }
    fetch: typeof fetch
  }
  const page = globalThis as unknown as Browser // a browser, which this project's types do not know
  const latest = 'berth-latest'
  const send = page.fetch.bind(globalThis)
  const known = (): Record<string, string> =>
    JSON.parse(page.sessionStorage.getItem(latest) ?? '{}') as Record<string, string>
  const note = (text: string): void => {
    const found: Record<string, string> = {} // the newest is first in lists
    for (const [id, kind = ''] of text.matchAll(/\b([a-z]{2,10})_[0-9a-hjkmnp-tv-z]{26}\b/g)) found[kind] ??= id
    page.sessionStorage.setItem(latest, JSON.stringify({ ...known(), ...found }))
  }
  const noteOrganization = async (headers: HeadersInit | undefined): Promise<void> => {
    const body = JSON.stringify({ query: '{ viewer { organization { id } } }' })
    note(await (await send('/graphql', { method: 'POST', headers: headers ?? {}, body })).text())
  }
  page.fetch = async (input, init) => {
    const address = typeof input === 'string' ? input : input instanceof URL ? input.href : ''
    if (new URL(address, page.location.href).pathname !== '/graphql') return send(input, init)
    const text = typeof init?.body === 'string' ? init.body : '' // a subscription is in the URL
    if ((address + text).includes('org_latest') && !known()['org']) await noteOrganization(init?.headers)
    const filled = (one: string): string =>
      one.replace(/(org|bld|sesn)_latest/g, (word, kind: string) => known()[kind] ?? word)
    const answer = await send(filled(address), text === '' ? init : { ...init, body: filled(text) })
    if (answer.headers.get('content-type')?.includes('json')) note(await answer.clone().text())
    return answer
  }
}

/**
 * Also runs in the browser, as text. After a change of tabs GraphiQL knows the new text at once, and the name of its operation
 * a moment later: whoever plays it in between gets the operation before it, or an error. So such a click waits until the stored
 * state of the tab fits together, which is what GraphiQL writes last.
 */
function holdPlay(): void {
  type Element = {
    closest(selector: string): Element | null
    click(): void
    classList: { contains(name: string): boolean }
  }
  type Click = { target: Element; stopImmediatePropagation(): void; preventDefault(): void }
  type Browser = {
    localStorage: { getItem(key: string): string | null }
    document: {
      addEventListener(name: 'click', listen: (event: Click) => void, capture: boolean): void
      querySelectorAll(selector: string): Iterable<Element>
    }
  }
  const page = globalThis as unknown as Browser // a browser, which this project's types do not know
  const [everyMs, looksMax] = [50, 60]
  const isRead = (): boolean => {
    const state = JSON.parse(page.localStorage.getItem('graphiql:tabState') ?? '{}') as {
      tabs?: { query: string | null; operationName: string | null }[]
      activeTabIndex?: number
    }
    const shown = [...page.document.querySelectorAll('.graphiql-tab')].findIndex((tab) =>
      tab.classList.contains('graphiql-tab-active'),
    )
    const kept = state.tabs?.[shown]
    if (!kept || state.activeTabIndex !== shown) return false
    const names = [...(kept.query ?? '').matchAll(/^(?:query|mutation|subscription) (\w+)/gm)].map((found) => found[1])
    return names.length === 0 || names.includes(kept.operationName ?? '')
  }
  let passes = false
  page.document.addEventListener(
    'click',
    (event) => {
      const play = event.target.closest('.graphiql-execute-button')
      if (!play || passes || isRead()) return
      event.stopImmediatePropagation()
      event.preventDefault()
      let looks = 0
      const timer = setInterval(() => {
        if (!isRead() && ++looks < looksMax) return
        clearInterval(timer)
        passes = true
        play.click()
        passes = false
      }, everyMs)
    },
    true,
  )
}
