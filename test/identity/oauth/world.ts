/** A Berth with people in browsers and programs that ask to be let in, for the tests of OAuth. */
import * as oidc from 'openid-client'
import { expect } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'

/** What the token endpoint answers. */
export type Tokens = { access_token: string; refresh_token: string; scope: string; expires_in: number }
/** An answer of OAuth's, with its status. */
export type OAuthAnswer = { status: number; headers: Headers; body: Record<string, unknown> & Partial<Tokens> }
/** A person who is signed in in a browser. */
export type Browser = {
  cookie: string
  organizationId: string
  /** Sends what a page of ours sends, with changes; a header that is undefined is left out. */
  post: (path: string, body: unknown, headers?: Record<string, string | undefined>) => Promise<OAuthAnswer>
}
/** What a program does. */
export type OAuthWorld = {
  berth: Berth
  origin: string
  /** A library's client, which has read our metadata. */
  client: (id?: string) => Promise<oidc.Configuration>
  signIn: (user?: string, organization?: string) => Promise<Browser>
  /** Where a program sends the browser; with what it must keep. */
  begin: (changes?: Record<string, string | undefined>) => Promise<{ url: URL; verifier: string; state: string }>
  /** Goes there, and finds the request that the console asks about. */
  requestAt: (url: URL) => Promise<string>
  /** Lets the program in. @returns where the browser is sent. */
  allow: (browser: Browser, request: string) => Promise<URL>
  /** All of it. */
  letIn: (browser: Browser, changes?: Record<string, string | undefined>) => Promise<Tokens>
  token: (form: Record<string, string>) => Promise<OAuthAnswer>
  /** The status of a GraphQL request with a token, and the code of its error. */
  ask: (token: string, query?: string) => Promise<string>
  stop: () => Promise<void>
}

/** Where the command line listens, on a port that its machine has chosen. */
export const loopback = 'http://127.0.0.1:52123/callback'

/** Starts one. */
export async function startOAuthWorld(settings: Record<string, string> = {}): Promise<OAuthWorld> {
  const berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000', ...settings } })
  const origin = berth.services.config.publicUrl
  const client: OAuthWorld['client'] = (id = 'berth-cli') =>
    oidc.discovery(new URL(origin), id, undefined, oidc.None(), {
      algorithm: 'oauth2',
      // oxlint-disable-next-line typescript/no-deprecated -- marked so that it stands out; a test has no certificate
      execute: [oidc.allowInsecureRequests],
    })

  async function signIn(user = 'alice', organization = 'acme'): Promise<Browser> {
    const headers = { 'content-type': 'application/json', origin, 'sec-fetch-site': 'same-origin' }
    const begun = await fetch(`${origin}/identity/session`, {
      method: 'POST',
      headers: { ...headers, 'x-berth-sign-in': '1' },
      body: JSON.stringify({ user, organization, create: true }),
    })
    expect(begun.status).toBe(201)
    const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
    const { organization_id: organizationId } = (await begun.json()) as { organization_id: string }
    return {
      cookie,
      organizationId,
      async post(path, body, changes = {}) {
        const sent = Object.entries({ ...headers, cookie, ...changes })
        return readAnswer(
          await fetch(origin + path, {
            method: 'POST',
            headers: sent.filter((one): one is [string, string] => one[1] !== undefined),
            body: typeof body === 'string' ? body : JSON.stringify(body),
          }),
        )
      },
    }
  }

  async function begin(changes: Record<string, string | undefined> = {}): ReturnType<OAuthWorld['begin']> {
    const verifier = oidc.randomPKCECodeVerifier()
    const state = oidc.randomState()
    const asked: Record<string, string | undefined> = {
      client_id: 'berth-cli',
      response_type: 'code',
      redirect_uri: loopback,
      scope: 'read write',
      state,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...changes,
    }
    const given = Object.entries(asked).filter((one): one is [string, string] => one[1] !== undefined)
    return { url: new URL(`${origin}/oauth/authorize?${new URLSearchParams(given).toString()}`), verifier, state }
  }

  async function requestAt(url: URL): Promise<string> {
    const answer = await fetch(url, { redirect: 'manual' })
    expect(answer.status, await answer.text()).toBe(303)
    const to = new URL(answer.headers.get('location') ?? '')
    expect(to.origin + to.pathname).toBe(`${origin}/authorize`)
    return to.searchParams.get('request') ?? ''
  }

  async function allow({ post, organizationId }: Browser, request: string): Promise<URL> {
    const { status, body } = await post('/identity/authorization/answer', {
      request,
      allow: true,
      organization_id: organizationId,
    })
    expect(status, JSON.stringify(body)).toBe(200)
    return new URL(String(body['to']))
  }

  async function token(form: Record<string, string>): Promise<OAuthAnswer> {
    return readAnswer(await fetch(`${origin}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) }))
  }

  return {
    berth,
    origin,
    client,
    signIn,
    begin,
    requestAt,
    allow,
    token,
    async letIn(browser, changes = {}) {
      const { url, verifier } = await begin(changes)
      const code = (await allow(browser, await requestAt(url))).searchParams.get('code') ?? ''
      const { status, body } = await token({
        grant_type: 'authorization_code',
        client_id: changes['client_id'] ?? 'berth-cli',
        redirect_uri: changes['redirect_uri'] ?? loopback,
        code,
        code_verifier: verifier,
      })
      expect(status, JSON.stringify(body)).toBe(200)
      return body as unknown as Tokens // as the specification has it
    },
    async ask(bearer, query = '{ viewer { role } }') {
      const { body, status } = await berth.ask(query, { token: bearer })
      return body.errors?.[0]?.extensions.code ?? String(status)
    },
    stop: () => berth.stop(),
  }
}

async function readAnswer(answer: Response): Promise<OAuthAnswer> {
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: text ? (JSON.parse(text) as OAuthAnswer['body']) : {} }
}
