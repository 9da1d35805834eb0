/** A code host for tests: it answers as GitHub does, fails on request, and serves the repositories of a real git server. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { SecureContext } from 'node:tls'
import { startGitServer, type GitServer } from '../git/git-server.ts'
import {
  badCredentials,
  badRefreshToken,
  badVerificationCode,
  branchShape,
  hookExists,
  hookShape,
  nameTaken,
  repositoryShape,
  userShape,
} from './recorded.ts'

/** An account there. */
type Account = { id: number; login: string; repositories: string[]; branches: string[]; hooks: Hook[] }
/** A webhook of one of its repositories. */
type Hook = { id: number; repository: string; active: boolean; events: string[]; config: Record<string, string> }
/** A request that it received. */
export type Asked = { method: string; path: string; authorization: string | undefined; body: string }

/** A running code host, and what tests can do with it. */
export type CodeHost = {
  port: number
  /** Every request, but for git's. */
  asked: Asked[]
  /** Git's requests: the path, and who was let in. */
  cloned: { path: string; login: string | null }[]
  /** Makes an account, once for each name. */
  account: (login: string) => Account
  /** A code as after a consent. */
  code: (login: string, options?: { expiresIn?: number }) => string
  /** Whether it accepts this token. */
  accepts: (token: string) => boolean
  /** The tokens that it accepts for an account. */
  tokensOf: (login: string) => string[]
  revoke: (token: string) => void
  /** Answers the next requests whose path begins so in its own way. */
  fail: (path: string, answer: (response: ServerResponse, request: IncomingMessage) => void) => void
  heal: () => void
  /** Whether the app is installed anywhere. */
  installed: boolean
  git: GitServer
  close: () => void
}

/** The app that it knows. */
export const codeHostApp = { id: 'Iv1.8a61f9b3a7aba766', secret: 'client-secret-canary-93b1', name: 'berth-test' }
const gitPassword = 'between-stand-in-and-git'

/** Starts one; over TLS with `secureContextOf`. @param name by which others know it. */
export async function startCodeHost(
  options: { secureContextOf?: (name: string) => Promise<SecureContext>; name?: string } = {},
): Promise<CodeHost> {
  const git = await startGitServer({ password: gitPassword })
  const accounts = new Map<string, Account>()
  const codes = new Map<string, { login: string; expiresIn: number | null }>()
  const access = new Map<string, string>()
  const refresh = new Map<string, { login: string; expiresIn: number | null }>()
  const failures = new Map<string, (response: ServerResponse, request: IncomingMessage) => void>()
  const handle = (request: IncomingMessage, response: ServerResponse): void =>
    void answer(request, response).catch(() => response.destroy())
  const { secureContextOf } = options
  const server = secureContextOf
    ? createSecureServer(
        { SNICallback: (name, done) => void secureContextOf(name).then((context) => done(null, context), done) },
        handle,
      )
    : createServer(handle)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const at = `${secureContextOf ? 'https' : 'http'}://${options.name ?? '127.0.0.1'}:${port}`
  const host: CodeHost = {
    port,
    asked: [],
    cloned: [],
    installed: true,
    git,
    account(login) {
      const account = accounts.get(login) ?? {
        id: 1000 + accounts.size,
        login,
        repositories: [],
        branches: ['main'],
        hooks: [],
      }
      accounts.set(login, account)
      return account
    },
    code(login, { expiresIn } = {}) {
      host.account(login)
      const code = randomBytes(10).toString('hex')
      codes.set(code, { login, expiresIn: expiresIn ?? null })
      return code
    },
    accepts: (token) => access.has(token),
    tokensOf: (login) => [...access].filter(([, owner]) => owner === login).map(([token]) => token),
    revoke: (token) => void access.delete(token),
    fail: (path, own) => void failures.set(path, own),
    heal: () => failures.clear(),
    close() {
      server.close()
      server.closeAllConnections()
      git.stop()
    },
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', at)
    if (/\.git\/|\/info\/refs$|\/git-[a-z]+-pack$/.test(url.pathname)) return serveGit(request, response, url)
    const body = await text(request)
    const { method = '', headers } = request
    host.asked.push({ method, path: url.pathname + url.search, authorization: headers.authorization, body })
    const own = [...failures].find(([path]) => url.pathname.startsWith(path))?.[1]
    if (own) return own(response, request)
    const say = (status: number, value: unknown): void =>
      void response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value))
    const given = (body === '' ? {} : JSON.parse(body)) as Record<string, string>
    if (url.pathname === '/login/oauth/access_token') return say(200, grant(given))
    const path = url.pathname.replace('/api/v3', '')
    if (path.startsWith('/applications/')) {
      const basic = Buffer.from(`${codeHostApp.id}:${codeHostApp.secret}`).toString('base64')
      if (headers.authorization !== `Basic ${basic}`) return say(401, badCredentials)
      const known = access.delete(given['access_token'] ?? '')
      return known ? void response.writeHead(204).end() : say(404, { message: 'Not Found' })
    }
    const account = accounts.get(access.get(headers.authorization?.replace(/^Bearer /, '') ?? '') ?? '')
    if (!account) return say(401, badCredentials)
    const repository = (name: string, index: number): unknown =>
      repositoryShape(at, { id: 5_000_000_000 + index, owner: account.login, name })
    const page = Number(url.searchParams.get('page') ?? 1)
    const perPage = Number(url.searchParams.get('per_page') ?? 30)
    const cut = <Item>(all: readonly Item[]): Item[] => all.slice((page - 1) * perPage, page * perPage)
    if (path === '/user') return say(200, userShape(account.id, account.login))
    if (path === '/user/installations') return say(200, { total_count: host.installed ? 1 : 0, installations: [] })
    if (path === '/user/repos' && method === 'GET') return say(200, cut(account.repositories.map(repository)))
    if (path === '/user/repos') {
      const name = given['name'] ?? ''
      if (account.repositories.includes(name)) return say(422, nameTaken)
      account.repositories.push(name)
      return say(201, repository(name, account.repositories.length - 1))
    }
    const [, ofOwner, ofName, , rest, hookId] = /^\/repos\/([^/]+)\/([^/]+)(\/(hooks)(?:\/(\d+))?)?$/.exec(path) ?? []
    if (ofOwner === account.login && account.repositories.includes(ofName ?? '')) {
      if (!rest) return say(200, repository(ofName ?? '', account.repositories.indexOf(ofName ?? '')))
      if (method === 'POST') return makeHook(say, account, ofName ?? '', JSON.parse(body) as Hook)
      if (method === 'GET')
        return say(
          200,
          account.hooks.filter((one) => one.repository === ofName).map((one) => hookShape(at, account.login, one)),
        )
      const index = account.hooks.findIndex((one) => one.id === Number(hookId))
      if (index >= 0) return void (account.hooks.splice(index, 1), response.writeHead(204).end())
    }
    const [, owner, name] = /^\/repos\/([^/]+)\/([^/]+)\/branches$/.exec(path) ?? []
    if (owner === account.login && account.repositories.includes(name ?? ''))
      return say(200, cut(account.branches.map((branch) => branchShape(branch, branch === 'main'))))
    return say(404, { message: 'Not Found', documentation_url: 'https://docs.github.com/rest', status: '404' })
  }

  function makeHook(
    say: (status: number, value: unknown) => void,
    account: Account,
    repository: string,
    given: Hook,
  ): void {
    if (account.hooks.some(({ config }) => config['url'] === given.config['url'])) return say(422, hookExists)
    const hook = { ...given, id: 12_345_678 + account.hooks.length, repository }
    account.hooks.push(hook)
    say(201, hookShape(at, account.login, hook))
  }

  function grant(given: Record<string, string>): unknown {
    if (given['client_id'] !== codeHostApp.id || given['client_secret'] !== codeHostApp.secret)
      return {
        error: 'incorrect_client_credentials',
        error_description: 'The client_id and/or client_secret passed are incorrect.',
      }
    const renewed = given['refresh_token']
    const known = renewed === undefined ? codes.get(given['code'] ?? '') : refresh.get(renewed)
    if (!known) return renewed === undefined ? badVerificationCode : badRefreshToken
    codes.delete(given['code'] ?? '')
    refresh.delete(renewed ?? '')
    const token = `gho_${randomBytes(18).toString('hex')}`
    access.set(token, known.login)
    if (known.expiresIn === null) return { access_token: token, scope: 'repo,gist', token_type: 'bearer' }
    const next = `ghr_${randomBytes(36).toString('hex')}`
    refresh.set(next, { login: known.login, expiresIn: 8 * 3600 })
    return {
      access_token: token,
      expires_in: known.expiresIn,
      refresh_token: next,
      refresh_token_expires_in: 15_811_200,
      scope: '',
      token_type: 'bearer',
    }
  }

  /** Private all of them: whoever has a token of the owner may read and push. */
  function serveGit(request: IncomingMessage, response: ServerResponse, url: URL): void {
    const basic = Buffer.from((request.headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString()
    const [user, token = ''] = basic.split(':')
    const [, owner, rest] = /^\/([^/]+)\/(.*)$/.exec(url.pathname.replace(/^(\/[^/]+\/[^/.]+)\//, '$1.git/')) ?? []
    const login = user === 'x-access-token' ? (access.get(token) ?? null) : null
    host.cloned.push({ path: url.pathname, login })
    if (login === null || login !== owner)
      return void response.writeHead(401, { 'www-authenticate': 'Basic realm="GitHub"' }).end('Not found')
    const onward = ask(
      {
        host: '127.0.0.1',
        port: git.port,
        method: request.method,
        path: `/${rest}${url.search}`,
        headers: {
          ...request.headers,
          authorization: `Basic ${Buffer.from(`git:${gitPassword}`).toString('base64')}`,
        },
      },
      (answered) => {
        response.writeHead(answered.statusCode ?? 502, answered.headers)
        answered.pipe(response)
      },
    )
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  }
  return host
}

/** The settings of a Berth that uses it. */
export function codeHostSettings({ port }: CodeHost, at = 'http://127.0.0.1'): Record<string, string> {
  return {
    BERTH_CODEHOST_URL: `${at}:${port}`,
    BERTH_CODEHOST_APP: codeHostApp.name,
    BERTH_CODEHOST_CLIENT_ID: codeHostApp.id,
    BERTH_CODEHOST_CLIENT_SECRET: codeHostApp.secret,
  }
}
