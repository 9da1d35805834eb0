/** What a page asks about a program that wants to be let in, and what it answers. The cookie says who does. */

/** What finds the request: the secret of the page's address, or the code that a device shows. */
export type Which = { request: string } | { user_code: string }
/** A request. `client_host`: whose word for the program there is; `returns_to`: null for this machine, and for a device. */
export type Asked = {
  client_name: string
  client_host: string | null
  scope: 'read' | 'write' | 'admin'
  is_device: boolean
  returns_to: string | null
  address: string
  created_at: string
}
/** What came back: what was asked for, or why not. */
export type Told<Data> = { data: Data } | { refusal: string; isSignedOut: boolean }

/** What a program asks for. */
export function look(which: Which): Promise<Told<Asked>> {
  return post('/identity/authorization', which)
}

/** Lets it in to an organization, or, without one, denies it. `to`: where the browser goes on. */
export function answer(which: Which, organizationId: string | null): Promise<Told<{ to: string | null }>> {
  const decided = organizationId === null ? { allow: false } : { allow: true, organization_id: organizationId }
  return post('/identity/authorization/answer', { ...which, ...decided })
}

async function post<Data>(path: string, body: object): Promise<Told<Data>> {
  try {
    const answered = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const told = (await answered.json()) as Data & { message?: string }
    if (answered.ok) return { data: told }
    return { refusal: told.message ?? `Berth answered ${answered.status}.`, isSignedOut: answered.status === 401 }
  } catch {
    return { refusal: 'Berth does not answer. Is it running?', isSignedOut: false }
  }
}
