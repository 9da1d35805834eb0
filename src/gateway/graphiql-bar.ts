/**
 * The bar above GraphiQL in which a newcomer gets a token. It keeps the token in sessionStorage, so a closed tab forgets
 * it, and puts it on every request of the page to /graphql, subscriptions included, that has no authorization of its own.
 */
import { roles } from '#src/platform/access/permissions.ts'
import { signInHeader, signInPath } from '#src/identity/sign-in.ts'

const dark =
  '--ink: #e8ecf6; --soft: #a3aec6; --line: #3a465e; --ground: #1b2534; --accent: #7aa2ff; --on-accent: #10162a; --alarm: #ff8f8f;'

/** The bar's style. Like GraphiQL it follows the system's dark mode, unless GraphiQL's settings put the other class on the body. */
export const signInStyle = `
  body { margin: 0; height: 100vh; display: flex; flex-direction: column; overflow: hidden; }
  #root { flex: 1; min-height: 0; }
  #root .graphiql-container { height: 100% !important; min-height: 0; }
  /* GraphiQL's own style holds tabs in place until the pointer is down on one: it then jumped to where an animation had left it. */
  #root .graphiql-tab { transform: none !important; }
  /* On a phone the answer is below the query, and the buttons of the side are below both. */
  @media (max-width: 700px) {
    #root .graphiql-container .graphiql-container { flex-direction: column-reverse; }
    #root .graphiql-sidebar { flex-direction: row; width: auto; padding: 0 8px; }
    #root .graphiql-sidebar > button { margin: 0 !important; }
    #root .graphiql-sidebar > button:nth-child(3) { margin-left: auto !important; }
    #root .graphiql-main, #root #graphiql-session > * { min-height: 0; }
    #root .graphiql-sessions { margin: 8px 8px 0; }
    #root #graphiql-session { flex-direction: column; min-height: 0; }
    #root #graphiql-session > .graphiql-horizontal-drag-bar, #root .graphiql-logo { display: none; }
    #root .graphiql-query-editor { padding: 8px; column-gap: 8px; }
  }
  #berth-bar { --ink: #1f2a44; --soft: #5b6784; --line: #d9dfeb; --ground: #f5f7fb; --accent: #2456d6; --on-accent: #fff; --alarm: #c0292f;
    display: flex; flex-wrap: wrap; align-items: center; gap: 8px 12px; padding: 9px 16px; min-height: 32px; border-bottom: 1px solid var(--line);
    background: var(--ground); color: var(--ink); font: 14px/1.3 system-ui, -apple-system, "Segoe UI", sans-serif; }
  @media (prefers-color-scheme: dark) { body:not(.graphiql-light) #berth-bar { ${dark} } }
  body.graphiql-dark #berth-bar { ${dark} }
  #berth-bar form { display: contents; }
  #berth-bar [hidden] { display: none !important; }
  #berth-bar b { font-weight: 650; }
  #berth-bar label { display: flex; align-items: center; gap: 6px; color: var(--soft); }
  #berth-bar input, #berth-bar select { box-sizing: border-box; height: 30px; width: 120px; padding: 0 8px; border: 1px solid var(--line); border-radius: 6px;
    background: transparent; color: var(--ink); font: inherit; }
  #berth-bar option { color: #1f2a44; background: #fff; }
  #berth-bar input.token { width: 220px; }
  #berth-bar input[type=checkbox] { width: auto; }
  #berth-bar button { height: 30px; padding: 0 12px; border: 1px solid var(--accent); border-radius: 6px; background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; cursor: pointer; }
  #berth-bar button.plain { background: transparent; color: var(--accent); font-weight: 500; }
  #berth-bar button:disabled { opacity: .6; cursor: wait; }
  #berth-bar :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
  #berth-bar code { padding: 3px 7px; border-radius: 5px; background: color-mix(in srgb, var(--line) 60%, transparent); font: 12.5px ui-monospace, Menlo, monospace; }
  #berth-bar .soft { color: var(--soft); }
  #berth-bar [role=alert] { color: var(--alarm); }
`

const command = 'npm run -s token -- --user alice --org acme --role owner'

const askForm = `
  <form id="berth-sign-in" autocomplete="off">
    <b>Sign in</b>
    <label>user <input name="user" value="alice" required maxlength="255" spellcheck="false"></label>
    <label>organization <input name="organization" value="acme" required maxlength="255" spellcheck="false"></label>
    <label>role <select name="role">${[...roles]
      .reverse()
      .map((role) => `<option>${role}</option>`)
      .join('')}</select></label>
    <label>new names <input name="create" type="checkbox"></label>
    <label id="berth-code" hidden>code <input name="code" type="password" spellcheck="false"></label>
    <button>Get a token</button>
    <span class="soft">On this machine only.</span>
  </form>`

const pasteForm = `
  <form id="berth-paste" autocomplete="off">
    <b>Your token</b>
    <input class="token" name="token" type="password" required aria-label="Token" placeholder="paste it here">
    <button>Use it</button>
    <span class="soft">From your identity provider or, on the machine that runs Berth: <code>${command}</code></span>
  </form>`

const getAdvice = 'Press "Get a token" in the bar above, then play this again.'
const pasteAdvice = 'Paste your token in the bar above and press "Use it", then play this again.'

/** The bar and its script: with the form for a new token, or with a field for one that was made elsewhere. */
export function signInBar(withSignIn: boolean): string {
  return `<div id="berth-bar" role="region" aria-label="Sign in">
  ${withSignIn ? askForm : pasteForm}
  <span id="berth-who" hidden></span>
  <button id="berth-copy" class="plain" type="button" hidden>Copy token</button>
  <button id="berth-out" class="plain" type="button" hidden>Forget token</button>
  <span role="alert" id="berth-problem"></span>
</div>
<script>(${barScript.toString()})(${JSON.stringify({ signInPath, signInHeader, advice: withSignIn ? getAdvice : pasteAdvice })})</script>`
}

/** Runs in the browser, as text, so it must not use anything from outside itself. */
function barScript(names: { signInPath: string; signInHeader: string; advice: string }): void {
  type Held = { token: string; user: string; organization: string; role: string; expiresAt: string }
  type Element = {
    hidden: boolean
    disabled: boolean
    textContent: string
    click(): void
    querySelector(selector: string): Element | null
    addEventListener(name: string, listen: (event: { preventDefault(): void }) => void): void
  }
  type Storage = {
    getItem(key: string): string | null
    setItem(key: string, value: string): void
    removeItem(key: string): void
  }
  type Browser = {
    sessionStorage: Storage
    document: { getElementById(id: string): Element | null; querySelector(selector: string): Element | null }
    location: { href: string; reload(): void }
    history: { replaceState(state: null, unused: string, url: string): void }
    navigator: { clipboard: { writeText(text: string): Promise<void> } }
    fetch: typeof fetch
    FormData: new (form: Element) => Iterable<[string, string]>
  }
  const page = globalThis as unknown as Browser // a browser, which this project's types do not know
  const kept = 'berth-token'
  const keptCode = 'berth-code'
  const find = (id: string) => page.document.getElementById(id)
  const form = find('berth-sign-in') ?? find('berth-paste')
  let held: Held | null = JSON.parse(page.sessionStorage.getItem(kept) ?? 'null') as Held | null

  const show = (problem = ''): void => {
    if (form) form.hidden = held !== null
    for (const id of ['berth-who', 'berth-copy', 'berth-out']) {
      const one = find(id)
      if (one) one.hidden = held === null
    }
    const who = find('berth-who')
    if (who && held)
      who.textContent = held.user
        ? `Signed in as ${held.user} in ${held.organization} (${held.role}) until ${new Date(held.expiresAt).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}`
        : 'Using the token you pasted'
    const alert = find('berth-problem')
    if (alert) alert.textContent = problem
  }
  const hold = (next: Held | null): void => {
    held = next
    if (next) page.sessionStorage.setItem(kept, JSON.stringify(next))
    else page.sessionStorage.removeItem(kept)
    show()
  }

  const send = page.fetch.bind(globalThis)
  page.fetch = async (input, init) => {
    const url = new URL(
      typeof input === 'string' ? input : input instanceof URL ? input.href : input.url,
      page.location.href,
    )
    if (url.pathname !== '/graphql') return send(input, init)
    const headers = new Headers(init?.headers)
    if (held && !headers.has('authorization')) headers.set('authorization', `Bearer ${held.token}`)
    const answer = await send(input, { ...init, headers })
    if (answer.status !== 401) return answer
    const isOver = held !== null
    hold(null)
    show(isOver ? 'Your token is no longer valid. Get a new one.' : names.advice)
    return isOver ? answer : Response.json({ errors: [{ message: names.advice }] }, { status: 401 })
  }

  form?.addEventListener('submit', (event) => {
    event.preventDefault()
    const fields = Object.fromEntries(new page.FormData(form))
    const button = form.querySelector('button')
    if (button) button.disabled = true
    const { create, code, ...person } = fields
    const wanted = {
      ...person,
      create: create !== undefined,
      code: code || (page.sessionStorage.getItem(keptCode) ?? ''),
    }
    const getting =
      fields['token'] !== undefined
        ? Promise.resolve<Held>({ token: fields['token'].trim(), user: '', organization: '', role: '', expiresAt: '' })
        : send(names.signInPath, {
            method: 'POST',
            headers: { 'content-type': 'application/json', [names.signInHeader]: '1' },
            body: JSON.stringify(wanted),
          }).then(async (answer) => {
            const reply = (await answer.json()) as {
              token?: string
              expires_at?: string
              error?: string
              message?: string
            }
            const asked = find('berth-code')
            if (reply.error === 'sign_in_code_required' && asked) asked.hidden = false
            if (!answer.ok || !reply.token) throw new Error(reply.message ?? 'No token came back.')
            return {
              token: reply.token,
              user: fields['user'] ?? '',
              organization: fields['organization'] ?? '',
              role: fields['role'] ?? '',
              expiresAt: reply.expires_at ?? '',
            }
          })
    getting
      .then(hold, (error: Error) => show(error.message))
      .finally(() => {
        if (button) button.disabled = false
      })
  })
  find('berth-copy')?.addEventListener('click', () => {
    page.navigator.clipboard.writeText(held?.token ?? '').then(
      () => show(),
      () => show('The browser did not allow copying.'),
    )
  })
  find('berth-out')?.addEventListener('click', () => {
    hold(null)
    page.location.reload()
  })
  // The link that Berth printed when it started contains the sign-in code, which must not stay in the address bar.
  const address = new URL(page.location.href)
  const given = address.searchParams.get('code')
  if (given) {
    page.sessionStorage.setItem(keptCode, given)
    address.searchParams.delete('code')
    page.history.replaceState(null, '', address.href)
  }
  show()
}
