/** Does what a plan says, step by step. */
import type { Berth } from '../../src/client/berth.ts'
import { Failure } from '../errors.ts'
import { packProgram } from '../programs.ts'
import { pathOf } from './json-schema.ts'
import type { Plan, Step } from './plan.ts'
import type { Described } from './reading.ts'
import type { Work } from './section.ts'
import { sectionOf } from './sections.ts'
import type { World } from './world.ts'

const atOnceMax = 4 // steps of a section that are done at a time

/** What became of a plan: the steps that are done, and those that failed with why. The others were not begun. */
export type Outcome = { done: Step[]; failed: { step: Step; error: unknown }[] }

/** Does the steps, those of a section together where they are of one kind. It stops behind the first that fails. */
export async function perform(
  berth: Berth,
  plan: Plan,
  context: { described: Described; world: World; isWaiting: boolean; tell(step: Step): void },
): Promise<Outcome> {
  const outcome: Outcome = { done: [], failed: [] }
  const made = new Map<string, string>()
  const work = workOf(berth, context, made)
  for (const batch of batchesOf(plan.steps)) {
    const results = await Promise.allSettled(batch.map((step) => doStep(work, step)))
    for (const [at, result] of results.entries()) {
      const step = batch[at]
      if (!step) continue
      if (result.status === 'rejected') outcome.failed.push({ step, error: result.reason })
      else {
        if (step.action === 'create') made.set(pathOf(step.section, step.name), result.value)
        outcome.done.push(step)
        context.tell(step)
      }
    }
    if (outcome.failed.length > 0) break
  }
  return outcome
}

/** Neighbours of one section and one kind, a few at a time. */
function batchesOf(steps: readonly Step[]): Step[][] {
  const batches: Step[][] = []
  for (const step of steps) {
    const batch = batches.at(-1)
    const [first] = batch ?? []
    const isAlike = first?.section === step.section && first.action === step.action
    if (batch && isAlike && batch.length < atOnceMax) batch.push(step)
    else batches.push([step])
  }
  return batches
}

function workOf(
  berth: Berth,
  { described, world, isWaiting }: { described: Described; world: World; isWaiting: boolean },
  made: ReadonlyMap<string, string>,
): Work {
  return {
    berth,
    isWaiting,
    idOf(section, name) {
      const found = world.find(section, name)
      const id = 'row' in found ? found.row.id : made.get(pathOf(section, name))
      if (id === undefined) throw new Failure(`There is no ${sectionOf(section).one} '${name}'.`)
      return id
    },
    async uploadCode(name) {
      const path = described.codeAt.get(name)
      if (path === undefined) throw new Failure(`The code of function '${name}' is not known.`)
      return berth.functions.upload(await packProgram(path))
    },
  }
}

async function doStep(work: Work, step: Step): Promise<string> {
  const section = sectionOf(step.section)
  if (step.action === 'create') return section.create(work, step.name, step.fields)
  if (step.action === 'change') await section.change(work, step.row, step.fields, step.all)
  else await section.remove(work, step.row)
  return step.row.id
}
