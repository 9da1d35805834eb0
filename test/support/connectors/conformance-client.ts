/**
 * The command that the conformance suite of the Model Context Protocol runs as a client: the functions by which Berth
 * signs in to tool servers and calls their tools, and a person who consents to everything.
 */
import { beginSignIn, finishSignIn } from '#src/drivers/mcp/sign-in.ts'
import { findClient, identityOf } from '#src/drivers/mcp/sign-in/clients.ts'
import { findSignInPlace, missingScopeOf, scopesTogether } from '#src/drivers/mcp/sign-in/places.ts'
import type { SignInReach } from '#src/drivers/mcp/sign-in/reach.ts'
import { withMcp } from '#src/drivers/mcp/connection.ts'

const url = process.argv.at(-1) ?? ''
const given = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  client_id?: string
  client_secret?: string
}
const signInsMax = 3
const self = {
  redirectUrl: 'http://localhost:4000/agents/v1/mcp-services/callback/suite',
  documentUrl: 'https://conformance-test.local/client-metadata.json', // the one that the suite knows
  name: 'Berth',
  websiteUrl: 'https://conformance-test.local/',
}

let refused = false
let missing: string | null = null
const reach: SignInReach = {
  mayOpen: () => true,
  async fetch(address, init) {
    const answer = await fetch(address, init)
    if (String(address).startsWith(url) && (answer.status === 401 || answer.status === 403)) {
      refused = true
      missing = missingScopeOf(answer) ?? missing
    }
    return answer
  },
}

/** Signs in as a person would. @param more the scopes to ask for besides. */
async function signIn(more: string | null): Promise<{ token: string; scope: string | null }> {
  const found = await findSignInPlace(reach, url, null)
  const place = { ...found, scope: more === null ? found.scope : scopesTogether(found.scope, more) }
  const client =
    given.client_id === undefined
      ? await findClient(reach, place, self)
      : identityOf({ clientId: given.client_id, clientSecret: given.client_secret ?? null }, place.metadata)
  const state = 'a state of the test'
  const { redirectUrl } = self
  const { authorizationUrl, codeVerifier } = await beginSignIn(place, { clientId: client.clientId, redirectUrl, state })
  const answer = await fetch(authorizationUrl, { redirect: 'manual' })
  const back = new URL(answer.headers.get('location') ?? '').searchParams
  const code = back.get('code') ?? ''
  const tokens = await finishSignIn(reach, place, client, { code, iss: back.get('iss'), codeVerifier, redirectUrl })
  return { token: tokens.accessToken, scope: tokens.scope }
}

/** Lists the tools and calls each, with what the suite's servers expect. */
async function useTools(token: string | null): Promise<void> {
  await withMcp({ url, token, fetch: reach.fetch, limitMs: 10_000 }, async (connection) => {
    const { tools } = await connection.listTools()
    for (const { name } of tools) await connection.callTool(name, name === 'add_numbers' ? { a: 5, b: 3 } : {})
  })
}

let token: string | null = null
let scope: string | null = null
for (let signIns = 0; ; signIns++) {
  refused = false
  missing = null
  try {
    await useTools(token)
    break
  } catch (error) {
    if (!refused || signIns === signInsMax || (signIns > 0 && missing === null)) throw error
    const more = missing === null ? null : scopesTogether(scope, missing)
    ;({ token, scope } = await signIn(more))
  }
}
