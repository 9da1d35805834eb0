/** A function that is deployed by `git push`: to a repository of a connected account, at a server whose hook tells Berth of it. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuthority } from '#src/drivers/compute/egress/authority.ts'
import { openCertificates } from '#src/edge/certificates.ts'
import { openEdgeIngress, openEdgeRoutes } from '#src/edge/ingress.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { codeHostSettings, startCodeHost, type CodeHost } from '../../support/code-host/code-host.ts'
import { freePort } from '../../support/ports.ts'
import { until } from '../../support/until.ts'

/** A build and a start in emulated machines. */
const slowMs = 300_000
const name = 'host.berth.internal'
const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'berth-pushes-'))
const trusted = getCACertificates('default')
const closing: (() => Promise<unknown> | void)[] = []
let berth: Berth
let host: CodeHost
let token: string
let httpPort: number

beforeAll(async () => {
  const authority = createAuthority(folder)
  setDefaultCACertificates([...trusted, await authority.certificate()])
  host = await startCodeHost({ secureContextOf: (server) => authority.contextFor(server), name })
  host.account('octocat').repositories = ['site']
  httpPort = await freePort()
  berth = await startBerth({
    worker: true,
    pool: 1,
    settings: {
      ...codeHostSettings(host, `https://${name}`),
      BERTH_VM_HOST_PORTS: String(host.port),
      BERTH_HTTP_PORT: String(httpPort),
      BERTH_HTTPS_PORT: String(await freePort()),
    },
  })
  token = await berth.token()
  const routes = openEdgeRoutes(berth.services)
  const certificates = openCertificates({ services: berth.services, given: null, hasRoute: routes.hasHost })
  const ingress = await openEdgeIngress(berth.services, routes, certificates)
  closing.push(
    () => ingress.close(1000),
    () => routes.close(),
    () => certificates.close(),
  )
  await berth.call('POST', '/api/v1/codehost/save-token', { token, body: { code: host.code('octocat') } })
}, slowMs)
afterAll(async () => {
  for (const close of closing) await close()
  await berth?.stop()
  host?.close()
  setDefaultCACertificates(trusted)
  rmSync(folder, { recursive: true })
})

/** What the repository has: a page, and what serves it. */
const page = (text: string): Record<string, string> => ({
  'public/index.html': `${text}\n`,
  Procfile: 'web: exec python3 -m http.server --bind 127.0.0.1 --directory public "$PORT"\n',
})

/** As docs/codehost.md has it, with the address and the secret in files beside it. */
const hookScript = `#!/bin/sh
while read -r before after ref; do
  body="{\\"ref\\":\\"$ref\\",\\"before\\":\\"$before\\",\\"after\\":\\"$after\\"}"
  signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$(cat hooks/berth-secret)" -r | cut -d ' ' -f 1)
  curl -sS --fail-with-body -X POST "$(cat hooks/berth-url)" -H 'Content-Type: application/json' -H 'X-GitHub-Event: push' \\
    -H "X-GitHub-Delivery: $(cat /proc/sys/kernel/random/uuid)" -H "X-Hub-Signature-256: sha256=$signature" -d "$body"
done
`

type Linked = { webhookUrl: string; webhookSecret: string; function: { id: string; url: string } }
type Shown = {
  repository: {
    lastPush: {
      deployedAt: string | null
      reason: string | null
      build: { status: string; error: string | null } | null
    } | null
  }
}
async function graphql<Data>(query: string, variables: Record<string, unknown>): Promise<Data> {
  const { body } = await berth.ask(query, { token, variables })
  expect(body.errors).toBeUndefined()
  return Object.values(body.data as Record<string, Data>)[0]! // it has one root field
}

async function ask(url: string): Promise<string> {
  const asking = request({ host: '127.0.0.1', port: httpPort, headers: { host: new URL(url).hostname } })
  asking.end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  let text = ''
  for await (const piece of answer.setEncoding('utf8') as AsyncIterable<string>) text += piece
  return text
}

test(
  'a push to the linked branch is built and answers at the function’s host, and the next push takes its place',
  async () => {
    host.git.addRepository('site', page('first'))
    host.git.allowPushes('site')
    // A plain git server makes no webhooks: the person adds the hook by hand.
    host.fail('/api/v3/repos/octocat/site/hooks', (response) => response.writeHead(404).end('{"message": "Not Found"}'))
    const { function: one } = await graphql<{ function: { id: string } }>(
      'mutation { createFunction(input: {name: "site", memoryMb: 1024}) { function { id } } }',
      {},
    )
    const linked = await graphql<Linked>(
      'mutation ($id: ID!) { linkFunctionRepository(input: {id: $id, repository: "octocat/site"}) { webhookUrl webhookSecret function { id url } } }',
      { id: one.id },
    )
    const hooks = join(host.git.root, 'site.git', 'hooks')
    writeFileSync(join(hooks, 'berth-url'), berth.url + new URL(linked.webhookUrl).pathname)
    writeFileSync(join(hooks, 'berth-secret'), linked.webhookSecret, { mode: 0o600 })
    writeFileSync(join(hooks, 'post-receive'), hookScript)
    chmodSync(join(hooks, 'post-receive'), 0o755)

    const work = join(folder, 'work')
    const secret = host.tokensOf('octocat').at(-1) ?? ''
    const git = (...words: string[]) =>
      run(
        'git',
        [
          '-c',
          'user.name=Test',
          '-c',
          'user.email=test@example.com',
          '-c',
          'http.sslVerify=false',
          '-c',
          `http.curloptResolve=${name}:${host.port}:127.0.0.1`,
          ...words,
        ],
        {
          cwd: folder,
        },
      )
    const remote = `https://x-access-token:${secret}@${name}:${host.port}/octocat/site.git`
    await git('clone', '--quiet', remote, work)
    const push = async (text: string): Promise<string> => {
      writeFileSync(join(work, 'public/index.html'), `${text}\n`)
      await git('-C', work, 'commit', '--quiet', '--all', '--message', text)
      return (await git('-C', work, 'push', 'origin', 'HEAD:main')).stderr
    }
    const deployed = (): Promise<void> =>
      until(
        'the push is deployed',
        async () => {
          const { repository } = await graphql<Shown>(
            'query ($id: ID!) { function(id: $id) { repository { lastPush { deployedAt reason build { status error } } } } }',
            { id: one.id },
          )
          const { lastPush } = repository
          expect(lastPush?.reason ?? lastPush?.build?.error ?? null).toBeNull()
          return lastPush?.deployedAt !== null
        },
        slowMs,
        500,
      )

    expect(await push('second')).toContain('The push is built by bld_')
    await deployed()
    expect(await ask(linked.function.url)).toBe('second\n')
    await push('third')
    await deployed()
    expect(await ask(linked.function.url)).toBe('third\n')
  },
  slowMs * 2,
)
