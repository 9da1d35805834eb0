/** Every operation as each of ten callers: who is let in, what the others are told, and that a refusal changes and shows nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { surfaces } from '#rest-compat/surfaces.ts'
import { newId } from '#src/platform/ids.ts'
import { startBerth, type Berth } from '../support/berth.ts'
import { agentsRows } from './matrix/agents.ts'
import { absentAgentsTarget, malformedAgentsTarget } from './targets/agents.ts'
import { absentNounsTarget, malformedNounsTarget } from './targets/nouns.ts'
import { absentWebhooksTarget, malformedWebhooksTarget } from './targets/webhooks.ts'
import {
  callerNames,
  canary,
  fill,
  makeCallers,
  makeRefusingNode,
  makeTarget,
  picture,
  type CallerName,
  type Callers,
  type Target,
} from './callers.ts'
import { documentOf, rootFields } from './documents.ts'
import { openPages } from './matrix/connectors.ts'
import {
  gatewayRows,
  graphqlRows,
  instanceHere,
  namesTarget,
  restRows,
  signedOnly,
  type Outcomes,
  type RestRow,
} from './matrix.ts'
import { notShared, notSharedHere } from './matrix/sessions.ts'
import { signedHook, triggerSettings } from './matrix/triggers.ts'

let berth: Berth
let callers: Callers
let node: string
beforeAll(async () => {
  berth = await startBerth({ settings: { BERTH_RATE_LIMIT_FACTOR: '1000', ...triggerSettings } })
  callers = await makeCallers(berth)
  node = await makeRefusingNode(berth)
})
afterAll(() => berth.stop())

const routes = surfaces.flatMap((surface) =>
  [...Object.keys(surface.routes), ...Object.keys(surface.handlers)].map((key) => ({
    key: key.replace(' ', ` ${surface.mount}`),
    route: surface.routes[key],
  })),
)

/** What this caller should get. */
function expected(outcomes: Outcomes, caller: CallerName): string {
  if (outcomes === signedOnly || outcomes === signedHook || openPages.includes(outcomes)) return outcomes[0]
  if (outcomes === notShared) return outcomes[0]
  if (caller === 'none' && (outcomes === notSharedHere || outcomes === instanceHere)) return outcomes[0]
  if (caller === 'deactivated') return '401 authentication_invalid'
  if (caller === 'none' || caller === 'garbage' || caller === 'expired') return '401 unauthorized'
  return outcomes[['owner', 'member', 'viewer', 'stranger', 'keyWithout', 'keyWith'].indexOf(caller)] ?? ''
}

type Outcome = { said: string; text: string }
const refused = (said: string): boolean => /^(401|403|404)/.test(said)

async function callRest(key: string, row: RestRow, token: string | undefined, target: Target): Promise<Outcome> {
  const [method = '', path = ''] = key.split(' ')
  const filled = fill(path + (row.query ?? ''), target, row.of)
  const leaving = new AbortController()
  const answer = await fetch(berth.url + filled, {
    method,
    signal: leaving.signal,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(row.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(row.body === undefined ? {} : { body: fill(JSON.stringify(row.body), target) }),
  })
  const streams = answer.headers.get('content-type')?.startsWith('text/event-stream')
  const text = streams ? '' : await answer.text()
  leaving.abort()
  const code = answer.ok || text === '' ? '' : codeIn(JSON.parse(text) as { error: string | { code: string } })
  return { said: `${answer.status}${code ? ` ${code}` : ''}`, text }
}

/** The agents service's envelope has its code inside. */
function codeIn({ error }: { error: string | { code: string } }): string {
  return typeof error === 'string' ? error : error.code
}

async function askGraphql(
  rootField: string,
  args: string | undefined,
  token: string | undefined,
  target: Target,
): Promise<Outcome> {
  const filled = args && fill(args, target)
  const { body } = await berth.ask(documentOf(rootField, filled), { token })
  const error = body.errors?.[0]
  return {
    said: error ? `${error.extensions.http?.status} ${error.extensions.code.toLowerCase()}` : '200',
    text: JSON.stringify(body),
  }
}

/** A target that nobody has changed, and all that is stored of it: the next operation gets it. */
let unchanged: Unchanged | undefined
type Unchanged = { target: Target; shown: string }

/** That one, or a new one. */
async function takeTarget(prepare?: Tried['prepare']): Promise<Target> {
  const kept = prepare ? undefined : unchanged?.target
  unchanged = undefined
  if (kept) return kept
  await berth.services.database.pool.query('delete from groups') // all targets are one organization’s, which may have a thousand
  const target = await makeTarget(berth, callers.owner, node)
  await prepare?.(target)
  return target
}

async function takePictured(prepare?: Tried['prepare']): Promise<Unchanged> {
  const shown = prepare ? undefined : unchanged?.shown
  const target = await takeTarget(prepare)
  return { target, shown: shown ?? (await picture(berth, target)) }
}

type Tried = {
  /** It only reads: the next caller may have the same target. */
  reads: boolean
  prepare?: (target: Target) => Promise<void>
  shown?: (outcome: string) => string
}

/**
 * Runs one row as all callers: first those who are to be refused, one after another against a target that nobody has
 * changed, nor they; then the others, each against one of their own unless they only read.
 */
async function tryAll(
  outcomes: Outcomes,
  run: (token: string | undefined, target: Target) => Promise<Outcome>,
  { reads, prepare, shown = (outcome) => outcome }: Tried,
): Promise<void> {
  const wanted = callerNames.map((caller) => [caller, shown(expected(outcomes, caller))] as const)
  const said = new Map<CallerName, string>()
  const call = async (caller: CallerName, target: Target): Promise<boolean> => {
    const outcome = await run(callers[caller], target)
    said.set(caller, outcome.said)
    const outsider = refused(outcome.said) || caller === 'stranger'
    if (outsider) expect(outcome.text, `${caller} must see nothing of the target`).not.toContain(canary)
    return refused(outcome.said)
  }
  const namesOf = (areRefused: boolean): CallerName[] =>
    wanted.filter(([, outcome]) => refused(outcome) === areRefused).map(([caller]) => caller)
  const first = await takePictured(prepare)
  const outsiders = namesOf(true)
  let wereRefused = true
  for (const caller of outsiders) wereRefused = (await call(caller, first.target)) && wereRefused
  const after = await picture(berth, first.target)
  if (wereRefused) expect(after, `${outsiders.join(', ')} were refused, and yet something changed`).toBe(first.shown)
  unchanged = after === first.shown ? first : undefined
  for (const caller of namesOf(false)) await call(caller, reads ? first.target : await takeTarget(prepare))
  if (reads && (await picture(berth, first.target)) !== first.shown) unchanged = undefined
  if (prepare) unchanged = undefined
  expect(Object.fromEntries(said)).toEqual(Object.fromEntries(wanted))
}

const withoutRequestId = (text: string): string => text.replaceAll(/req_[0-9a-z]{26}/g, 'req')

/** A stranger cannot tell what is another's from what is absent or no id at all. */
async function tryAbsent(run: (target: Target) => Promise<Outcome>): Promise<void> {
  const { target, shown } = await takePictured()
  const bodies = await Promise.all([
    run(target),
    run({
      vm: newId('vm'),
      process: newId('process'),
      terminal: newId('terminal'),
      folder: newId('folder'),
      database: newId('database'),
      backup: newId('backup'),
      restore: newId('restore'),
      schedule: newId('backupSchedule'),
      proxy: newId('proxy'),
      domain: newId('domain'),
      function: newId('function'),
      functionVersion: newId('functionVersion'),
      externalRef: 'absent',
      build: newId('build'),
      secret: 'ABSENT',
      organization: newId('organization'),
      apiKey: '0000000000000000',
      membership: newId('membership'),
      ...absentNounsTarget(),
      ...absentAgentsTarget(),
      ...absentWebhooksTarget(),
    }),
    run({
      vm: 'vm_x',
      process: 'prc_x',
      terminal: 'trm_x',
      folder: 'fld_x',
      database: 'db_x',
      backup: 'bkp_x',
      restore: 'rst_x',
      schedule: 'bks_x',
      proxy: 'prx_x',
      domain: 'dom_x',
      function: 'fn_x',
      functionVersion: 'fnv_x',
      externalRef: 'x',
      build: 'bld_x',
      secret: 'x',
      organization: 'org_x',
      apiKey: 'x',
      membership: 'mbr_x',
      ...malformedNounsTarget,
      ...malformedAgentsTarget,
      ...malformedWebhooksTarget,
    }),
    run({ ...target, vm: newId('node') }),
  ])
  for (const body of bodies)
    expect({ ...body, text: withoutRequestId(body.text) }).toEqual({
      ...bodies[0],
      text: withoutRequestId(bodies[0].text),
    })
  expect(await picture(berth, target)).toBe(shown)
  unchanged = { target, shown }
}

test('every REST operation has a row, and every row an operation', () => {
  expect([...Object.keys(restRows), ...Object.keys(gatewayRows), ...Object.keys(agentsRows)].sort()).toEqual(
    routes.map(({ key }) => key).sort(),
  )
})

test('every root field of GraphQL has a row, and every row a field', () => {
  expect(Object.keys(graphqlRows).sort()).toEqual(rootFields().sort())
})

describe('REST', () => {
  test.each([...Object.entries(restRows), ...Object.entries(agentsRows)])(
    '%s answers ten callers as its row says',
    async (key, row) => {
      await tryAll(row.outcomes, (token, target) => callRest(key, row, token, target), {
        reads: key.startsWith('GET '),
      })
    },
  )

  test.each(Object.entries(gatewayRows))('%s of the gateway answers ten callers as its row says', async (key, row) => {
    await tryAll(
      row.outcomes,
      async (token, target) => {
        const { said, text } = await callRest(key, row, token, target)
        return { said: said.slice(0, 3), text }
      },
      { reads: true, shown: (outcome) => outcome.slice(0, 3) },
    )
  })

  test.each(
    [...Object.entries(restRows), ...Object.entries(agentsRows).filter(([, { of }]) => of)].filter(
      ([key, { body, foreignIs403, sameForAll }]) =>
        namesTarget(key + JSON.stringify(body)) && !foreignIs403 && !sameForAll,
    ),
  )('%s does not tell a stranger what is foreign from what is absent', async (key, row) => {
    await tryAbsent((target) => callRest(key, row, callers.stranger, target))
  })
})

/** The status in which a VM can do this. */
const startsFrom: Readonly<Record<string, string>> = { 'mutation startVm': 'stopped', 'mutation resumeVm': 'paused' }

async function setStatus({ externalRef }: Target, status: string): Promise<void> {
  const update = 'update vms set status = $1, desired_status = $1 where external_ref = $2'
  await berth.services.database.pool.query(update, [status, externalRef])
}

describe('GraphQL', () => {
  test.each(Object.entries(graphqlRows).filter(([rootField]) => !rootField.startsWith('subscription')))(
    '%s answers ten callers as its row says',
    async (rootField, row) => {
      const status = startsFrom[rootField]
      await tryAll(row.outcomes, (token, target) => askGraphql(rootField, row.args, token, target), {
        reads: rootField.startsWith('query '),
        ...(status && { prepare: (target) => setStatus(target, status) }),
      })
    },
  )

  test.each(
    Object.entries(graphqlRows).filter(
      ([rootField, { args, foreignIs403 }]) =>
        !rootField.startsWith('subscription') && namesTarget(args?.replaceAll('{fresh}', '')) && !foreignIs403,
    ),
  )('%s does not tell a stranger what is foreign from what is absent', async (rootField, row) => {
    await tryAbsent((target) => askGraphql(rootField, row.args, callers.stranger, target))
  })
})
