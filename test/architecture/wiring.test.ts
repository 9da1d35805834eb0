/** The listeners of each hook, and that no process changes nouns without them. */
import { expect, test } from 'vitest'
import { importsOf, productFolders, readSources } from './sources.ts'

const wiring = 'src/resources/wiring.ts'
const hooks = 'src/platform/postgres/hooks.ts'

/** Each hook and its listeners, in the order in which they run. */
const listenersOf: readonly (readonly [hook: string, ...listeners: string[]])[] = [
  ['environmentEnding', 'failSessionsOf'],
  ['agentDeletionAsked', 'refuseAgentAtWork'],
  ['agentDeleting', 'endWorkOf'],
  ['sessionMoved', 'followSessionMove'],
  ['sessionStillWaits', 'followSessionWait'],
  ['taskEventsAppended', 'streamEvents'],
  ['sessionDeleting', 'failTasksOf'],
  ['deploymentLocking', 'lockSchedulesOf'],
  ['deploymentScheduling', 'setScheduleOf'],
  ['projectDeleting', 'detachVms'],
  ['codeHostLinkRemoving', 'leaveCodeHostLink'],
  ['vmDeleting', 'endTerminalsOf', 'removeProxiesOfVm', 'unlinkDomainsOfVm'],
  ['hostedVmStepped', 'noteVmOfDatabase', 'noteVmOfFunction'],
  ['functionDeleting', 'unlinkDomainsOfFunction', 'unlinkDatabasesOfFunction'],
]

/** Processes that reach a hook without its listeners, and why. */
const changeNothing: Readonly<Record<string, string>> = {
  'src/backup.ts': 'reads only',
}

const sources = readSources(productFolders)
const targets = new Map(sources.map((source) => [source.path, importsOf(source)]))
const declared = sources.flatMap(({ path, text }) =>
  [...text.matchAll(/^export const (\w+) =\s+hook\b/gm)].map(([, name = '']) => ({ path, name })),
)

test('the listeners are those that are listed here, in this order', () => {
  const text = sources.find(({ path }) => path === wiring)?.text ?? ''
  const wired = [...text.matchAll(/^(\w+)\.on\((.*)\)$/gm)].map(([, name = '', listener = '']) => [name, listener])
  expect(wired).toEqual(listenersOf.flatMap(([name, ...listeners]) => listeners.map((one) => [name, one])))
})

test('every hook that is declared is run, and has a listener', () => {
  expect(declared.map(({ name }) => name).sort()).toEqual(listenersOf.map(([name]) => name).sort())
  const calls = sources.map(({ code }) => code).join('\n')
  expect(declared.filter(({ name }) => !calls.includes(`${name}.run(`))).toEqual([])
})

test('every process that reaches a hook loads the list of listeners', () => {
  const imported = new Set([...targets.values()].flat())
  const begun = sources.map(({ path }) => path).filter((path) => !imported.has(path))
  const reaching = begun.filter((path) => reachedFrom(path).has(hooks))
  expect(reaching).toEqual(expect.arrayContaining(['src/edge/main.ts', 'src/gateway/main.ts', 'workers/main.ts']))
  expect(reaching.filter((path) => !reachedFrom(path).has(wiring))).toEqual(Object.keys(changeNothing))
})

function reachedFrom(path: string): Set<string> {
  const seen = new Set([path])
  for (const one of seen) for (const target of targets.get(one) ?? []) seen.add(target) // a set grows while it is walked
  return seen
}
