/** Each concept in its one place: the environment, the clock, randomness, digests, status columns, package hosts. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { packageManagerHosts } from '#src/drivers/compute/egress/policies.ts'
import { listFiles, productFolders, readSources, root } from './sources.ts'

const product = readSources(productFolders)

/** Product files whose code has the pattern. */
const filesWith = (pattern: RegExp): string[] =>
  product.filter(({ code }) => pattern.test(code)).map(({ path }) => path)
/** The same in the whole text, comments and strings too. */
const textsWith = (pattern: RegExp): string[] =>
  product.filter(({ text }) => pattern.test(text)).map(({ path }) => path)

test('process.env is read by config.ts only', () => {
  // The command line is a program of its own.
  expect(filesWith(/\bprocess\s*\.\s*env\b|\bprocess\s*\[|\{[^}]*\benv\b[^}]*\}\s*=\s*process\b/)).toEqual([
    'cli/main.ts',
    'src/platform/config.ts',
  ])
})

test('the wall clock is read by clock.ts only', () => {
  expect(filesWith(/\bDate\s*\.\s*now\b|\bnew\s+Date\s*\(\s*\)/)).toEqual(['src/platform/clock.ts'])
  // A moment made of a stored text is no reading of the clock; the page's script runs in the browser.
  const madeOfText = ['src/platform/clock.ts', 'src/platform/postgres/statements.ts']
  expect(textsWith(/\bnew Date\(/)).toEqual(['src/gateway/graphiql-bar.ts', ...madeOfText])
})

test('ids and digests are made where they belong', () => {
  expect(filesWith(/\brandomUUID\b|\bMath\s*\.\s*random\b/)).toEqual([])
  // The command line is no part of the server; a folder is named by a short digest, before there are secrets.
  expect(filesWith(/\bcreateHash\b|\bcreateHmac\b/)).toEqual([
    'cli/apply/code.ts',
    'cli/commands/db/dump.ts',
    'src/platform/secrets.ts',
    'src/platform/settings/places.ts',
  ])
  expect(filesWith(/\bcreateCipheriv\b|\bcreateDecipheriv\b/)).toEqual(['src/platform/secrets.ts'])
})

/** Who takes random bytes, and what for. */
const randomness: Readonly<Record<string, string>> = {
  'cli/keys.ts': 'keys of idempotency',
  'cli/ssh/keys.ts': 'the check of a private key’s file',
  'src/client/chance.ts': 'keys of idempotency, and pauses that are not all equally long',
  'src/console/pages.ts': 'the nonce of each page',
  'src/drivers/compute/guest/line.ts': 'fresh entropy for a restored guest',
  'src/drivers/compute/ssh/keys.ts': 'a guest’s own keys and machine id',
  'src/drivers/compute/loopback-addresses.ts': 'an address of a VM’s own on loopback',
  'src/drivers/compute/qemu/machine-users.ts': 'where an instance begins among the users of machines',
  'src/drivers/mcp/transport.ts': 'where a connection begins among the numbers of requests',
  'src/edge/databases/own-logins.ts': 'in which order a process takes logins that others take too',
  'src/platform/ids.ts': 'ids and tokens',
  'src/platform/pubsub.ts': 'processes that do not all look again in the same moment',
  'src/platform/secrets.ts': 'nonces and the sealing key',
  'src/resources/infra/certificates/claims.ts': 'attempts at certificates that are not made together',
  'src/resources/identity/api-keys.ts': 'the letters of a key id',
  'src/resources/identity/authorizations/devices.ts': 'the letters of a code that a person enters',
}
test('random bytes are taken only where the list above says', () => {
  const taking = filesWith(/\brandomBytes\b|\brandomFill(?:Sync)?\b|\brandomInt\b|\bgetRandomValues\b/)
  expect(taking.filter((path) => !(path in randomness))).toEqual([])
})

test('a status column is written by states.ts only', () => {
  expect(textsWith(/\bset\s+status\b|[,\s]status\s*=\s*\$\{/)).toEqual(['src/platform/states.ts'])
})

test('pg-boss and mercurius are each known to one file, NOTIFY to the one that sends, and LISTEN to the one that hears', () => {
  const importing = (name: string): string[] =>
    product.filter(({ text }) => new RegExp(`(?:from|import\\() ?'${name}'`).test(text)).map(({ path }) => path)
  expect(importing('pg-boss')).toEqual(['src/platform/jobs.ts'])
  expect(importing('mercurius')).toEqual(['rest-compat/run.ts'])
  expect(importing('graphql-yoga')).toEqual(['src/gateway/graphql.ts'])
  // The proxy of databases names it among the functions of Postgres that clients may call.
  expect(textsWith(/pg_notify|\blisten \$\{/)).toEqual([
    'src/edge/postgres/sessions/statement-words.ts',
    'src/platform/postgres/notices.ts',
    'src/platform/pubsub.ts',
  ])
})

/** Where packages come from is said once for VMs' policies, and once for what a template is built from. */
const tablesOfHosts = [
  'src/drivers/compute/egress/policies.ts',
  'src/drivers/compute/guest/image/files/etc/apt/sources.list.d/debian.sources',
  'src/drivers/compute/host-packages.ts',
]
test('the names of package hosts are in their tables only', () => {
  const hosts = Object.values(packageManagerHosts).flat()
  expect(hosts.length).toBeGreaterThan(5)
  const files = [
    ...listFiles([...productFolders, 'test', '.ci'], ''),
    'package.json',
    'package-lock.json',
    'Procfile',
    'tsconfig.json',
  ]
  const naming = files.filter((path) => {
    const text = readFileSync(`${root}/${path}`, 'utf8')
    return hosts.some((host) => text.includes(host))
  })
  expect(naming.filter((path) => !tablesOfHosts.includes(path))).toEqual([])
})

/** Maps that cannot forget just what was used longest ago, and why. */
const mapsOfTheirOwn: Readonly<Record<string, string>> = {
  'src/resources/llm/billing/accounts.ts': 'an account with money on its way stays, however long ago it was used',
  'src/gateway/graphql.ts': 'parsed documents leave with all that was made of them',
}
test('a cache with a limit is a bounded map, except where the list above says why', () => {
  const makingRoom =
    /\.size\s*(?:>|<=)=?\s*[\w.]*[mM]ax\b[^\n]*(?:\n[^\n]*)?\.(?:clear|delete)\(|\.(?:keys|values)\(\)\.next\(\)/
  expect(textsWith(makingRoom).filter((path) => !(path in mapsOfTheirOwn))).toEqual([])
  // What it looks for is found.
  expect('if (known.size >= knownMax) known.clear()').toMatch(makingRoom)
  expect('if (kept.size > keptMax) kept.delete(kept.keys().next().value)').toMatch(makingRoom)
})

/** Who hears every notice of a topic, and what for. */
const listeners: Readonly<Record<string, string>> = {
  'src/platform/caches/noticed-cache.ts': 'what is remembered of the database',
  'src/platform/streams/followed-rows.ts':
    'rows that a process keeps as long as it lives, whether Postgres is there or not',
  'src/platform/jobs.ts': 'queues with new jobs',
  'src/edge/databases/changes.ts': 'clients of databases, who are told to leave',
  'src/edge/functions.ts': 'functions whose requests go elsewhere from now on',
  'src/edge/databases/finder.ts': 'users that no database had: any new database may have one',
  'src/resources/llm/billing/accounts.ts':
    'purses, which hold money that is on its way and are not forgotten but read again',
  'workers/infra/project-networks.ts': 'names of databases, which are told to the VMs of their project',
  'workers/agents/lookouts.ts': 'sessions that may begin a task, and those that are answered by another one',
  'workers/infra/webhooks.ts': 'endpoints for which something is due',
  'workers/infra/database-upkeep.ts': 'databases whose metrics somebody watches',
  'src/resources/llm/billing/state.ts': 'a process that wants back what others hold of a balance',
}
test('what is cached until a notice is in a noticed cache, except where the list above says why', () => {
  expect(textsWith(/pubsub\.listen\(/).filter((path) => !(path in listeners))).toEqual([])
  expect(textsWith(/pubsub\.listen\(/)).toContain('src/platform/caches/noticed-cache.ts')
})
