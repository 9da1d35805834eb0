/** Who takes part in what happens to a noun below it, and that no process changes nouns without them. */
import { expect, test } from 'vitest'
import { importsOf, productFolders, readSources } from './sources.ts'

const wiring = 'src/resources/wiring.ts'
const hooks = 'src/platform/postgres/hooks.ts'

/** Each moment, and what takes part in it, in this order and in the same transaction. */
const takePart: readonly (readonly [moment: string, ...listeners: string[]])[] = [
  ['environmentEnding', 'failSessionsOf'],
  ['agentDeletionAsked', 'refuseAgentAtWork'],
  ['agentDeleting', 'endWorkOf'],
  ['sessionMoved', 'followSessionMove'],
  ['sessionStillWaits', 'followSessionWait'],
  ['streamedEvents', 'streamEvents'],
  ['sessionDeleting', 'failTasksOf'],
  ['deploymentLocking', 'lockSchedulesOf'],
  ['deploymentScheduled', 'setScheduleOf'],
  ['projectDeleting', 'detachVms'],
  ['linkRemoving', 'leaveCodeHostLink'],
  ['vmDeleting', 'removeProxiesOfVm', 'unlinkDomainsOfVm'],
  ['vmChanged', 'noteVmOfDatabase', 'noteVmOfFunction'],
  ['functionDeleting', 'unlinkDomainsOfFunction', 'unlinkDatabasesOfFunction'],
]

/** Processes that reach a moment without those who take part in it, and why. */
const changeNothing: Readonly<Record<string, string>> = {
  'src/backup.ts': 'reads only',
}

const sources = readSources(productFolders)
const targets = new Map(sources.map((source) => [source.path, importsOf(source)]))
const declared = sources.flatMap(({ path, text }) =>
  [...text.matchAll(/^export const (\w+) =\s+hook\b/gm)].map(([, moment = '']) => ({ path, moment })),
)

test('what takes part in a moment is what is listed here, in this order', () => {
  const text = sources.find(({ path }) => path === wiring)?.text ?? ''
  const wired = [...text.matchAll(/^(\w+)\.on\((.*)\)$/gm)].map(([, moment = '', listener = '']) => [moment, listener])
  expect(wired).toEqual(takePart.flatMap(([moment, ...listeners]) => listeners.map((one) => [moment, one])))
})

test('every moment that is declared is run, and has somebody who takes part in it', () => {
  expect(declared.map(({ moment }) => moment).sort()).toEqual(takePart.map(([moment]) => moment).sort())
  const calls = sources.map(({ code }) => code).join('\n')
  expect(declared.filter(({ moment }) => !calls.includes(`${moment}.run(`))).toEqual([])
})

test('every process that reaches a moment loads the list of those who take part', () => {
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
