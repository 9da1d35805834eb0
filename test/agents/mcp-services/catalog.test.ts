/** The file of connectors: its form, its problems in sentences without values, and what the doctor says of it. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError, readConfig } from '#src/platform/config.ts'
import { connectorLimits } from '#src/platform/limits/connectors.ts'
import { serviceCatalog } from '#src/resources/agents/mcp-services/catalog.ts'
import { checkConnectors } from '#src/start/connector-checks.ts'

const file = join(mkdtempSync(join(tmpdir(), 'catalog-')), 'connectors.yaml')
const read = (text: string, more: Record<string, string> = {}) => {
  writeFileSync(file, text)
  return serviceCatalog(readConfig({ BERTH_CONNECTORS_FILE: file, ...more }))
}
const problems = (text: string, more: Record<string, string> = {}): string => {
  try {
    read(text, more)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.join('\n')
    throw error
  }
  return ''
}

test('an operator’s entry is laid over Berth’s own, adds one, or removes one', () => {
  const secret = { MY_SECRET: 'canary-secret' }
  const catalog = read(
    `services:
  github: {client_id: my-app, client_secret_env: MY_SECRET, scopes: [repo, "read:org"]}
  mine: {name: Mine, url: https://mine.example.com/mcp, auth: none}
  linear: null`,
    secret,
  )
  expect(catalog.get('github')).toMatchObject({
    name: 'GitHub',
    clientId: 'my-app',
    clientSecret: 'canary-secret',
    scopes: 'repo read:org',
    missing: null,
  })
  expect(catalog.get('mine')).toMatchObject({ auth: 'none', iconUrl: null, description: '' })
  expect([catalog.has('linear'), catalog.has('notion')]).toEqual([false, true])
  expect(read('').size).toBeGreaterThan(5)
})

test.each([
  ['services: [', /line 1 is not YAML/],
  ['servises: {}', /servises is not known here/],
  ['services: {"Not Fit": {}}', /must be a short name/],
  ['services: {callback: {name: X, url: "https://x.example.com/"}}', /must be a short name/],
  ['services: {x: {}}', /services\.x\.name is needed.*\n.*services\.x\.url is needed/],
  ['services: {x: {name: X, url: "http://tools.example.com/"}}', /url must be an https address/],
  ['services: {x: {name: X, url: "ftp://tools.example.com/"}}', /url must be an http\(s\) address/],
  ['services: {x: {name: X, url: "https://a:canary-1@x.example.com/"}}', /without credentials/],
  [
    'services: {x: {name: X, url: "https://x.example.com/", client_secret: canary-2}}',
    /client_secret is not known here; put the secret into an environment variable/,
  ],
  [
    'services: {x: {name: X, url: "https://x.example.com/", client_secret_env: canary-3}}',
    /the name of an environment variable/,
  ],
  ['services: {x: {name: X, url: "https://x.example.com/", client_secret_env: MY_SECRET}}', /client_id is needed/],
  ['services: {x: {name: X, url: "https://x.example.com/", auth: magic}}', /auth must be one of oauth, none/],
  ['services: {x: {name: X, url: "https://x.example.com/", auth: none, scopes: [a]}}', /mean nothing/],
  ['services: {x: {name: X, url: "https://x.example.com/", scopes: ["a b"]}}', /a scope, without spaces/],
  ['services: {x: {name: X, url: "https://x.example.com/", icon_url: "http://x.example.com/i"}}', /an https address/],
  [
    `services: {${Array.from({ length: connectorLimits.servicesMax + 1 }, (_, i) => `s${i}: null`).join()}}`,
    /at most 200/,
  ],
  [
    'a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]',
    /aliases expand/,
  ],
  [' '.repeat(connectorLimits.fileBytes + 1), /is larger than/],
])('%.80s is a problem in a sentence', (text, sentence) => {
  const found = problems(text)
  expect(found).toMatch(sentence)
  expect(found).not.toContain('canary')
})

test('a file that is not there is a problem too, and so are origins that are none', () => {
  expect(() => serviceCatalog(readConfig({ BERTH_CONNECTORS_FILE: '/nowhere.yaml' }))).toThrow(
    /cannot be read \(ENOENT\)/,
  )
  for (const origins of ['http://app.example.com', 'https://app.example.com/path', '*', 'javascript:alert(1)'])
    expect(() => readConfig({ BERTH_RETURN_ORIGINS: origins }), origins).toThrow(/BERTH_RETURN_ORIGINS must be/)
  const fit = 'https://app.example.com,http://localhost:5173,http://127.0.0.1:3000'
  expect(readConfig({ BERTH_RETURN_ORIGINS: fit }).returnOrigins).toHaveLength(3)
})

test('the doctor says what is set up and what is missing, and shows no secret', () => {
  const github = 'github: {client_id: a, client_secret_env: MY_SECRET}'
  writeFileSync(file, `services: {${github}}`)
  const said = (more: Record<string, string>) =>
    checkConnectors(readConfig({ BERTH_CONNECTORS_FILE: file, ...more })).map(
      ({ what, remedy }) => `${what} ${remedy ?? ''}`,
    )
  expect(said({}).join('\n')).toMatch(
    /connectors: \d+; sign-ins come back to http:\/\/localhost:4000\/agents\/v1\/mcp-services\/callback\/<its id> \nconnector github: not set up Set MY_SECRET\. .*callback\/github\nconnector slack: not set up Set services\.slack\.client_id .*callback\/slack\n.*BERTH_RETURN_ORIGINS.*\n.*BERTH_PUBLIC_URL/,
  )
  const all = {
    MY_SECRET: 'canary-secret',
    BERTH_RETURN_ORIGINS: 'https://a.example',
    BERTH_PUBLIC_URL: 'https://b.example',
  }
  writeFileSync(file, `services: {${github}, slack: {client_id: b}}`)
  expect(said(all)).toEqual([expect.stringMatching(/^connectors: \d+; sign-ins come back to https:\/\/b\.example\//)])
})
