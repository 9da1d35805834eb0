/** Prints plans and what became of them. */
import type { Output } from '../output.ts'
import { jsonOf, lineOf } from '../text.ts'
import { pathOf } from './json-schema.ts'
import type { Outcome } from './performing.ts'
import type { Plan, Step } from './plan.ts'

const valueMax = 120 // characters of a value in a line
const signs = { create: '+', change: '~', delete: '-' } as const

/** How many steps of each kind a plan has. */
export function countsOf({ steps, unchanged }: Plan): {
  create: number
  change: number
  delete: number
  unchanged: number
} {
  const count = (action: Step['action']): number => steps.filter((step) => step.action === action).length
  return { create: count('create'), change: count('change'), delete: count('delete'), unchanged }
}

/** A step as a line: `+ create vms.web`. */
export function lineOfStep({ action, section, name }: Step): string {
  return `${signs[action]} ${action} ${lineOf(pathOf(section, name))}`
}

/** Prints a plan as lines: each step, and below it what is different. */
export function printPlan(out: Output, plan: Plan): void {
  for (const step of plan.steps) {
    out.line(lineOfStep(step))
    const own = pathOf(step.section, step.name)
    for (const { path, from, to, isHidden } of step.differences) {
      const field = lineOf(path.slice(own.length + 1))
      if (step.action === 'create') out.line(`    ${field}: ${isHidden ? '(not shown)' : shown(to)}`)
      else out.line(`    ${field}: ${isHidden ? '(not shown)' : `${shown(from)} -> ${shown(to)}`}`)
    }
  }
  for (const note of plan.notes) out.note(lineOf(note))
  const counts = countsOf(plan)
  out.line(
    `= ${counts.unchanged} unchanged; ${counts.create} to create, ${counts.change} to change, ${counts.delete} to delete`,
  )
}

/** A plan, and what became of it if it was done, as JSON. */
export function jsonOfPlan(plan: Plan, outcome?: Outcome): Record<string, unknown> {
  const step = (one: Step): Record<string, unknown> => ({ action: one.action, section: one.section, name: one.name })
  return {
    hasChanges: plan.steps.length > 0,
    unchanged: plan.unchanged,
    steps: plan.steps.map((one) => ({
      ...step(one),
      differences: one.differences.map(({ path, from, to, isHidden }) =>
        isHidden ? { path } : { path, from: withoutLogins(from), to: withoutLogins(to) },
      ),
    })),
    notes: plan.notes,
    ...(outcome
      ? {
          done: outcome.done.map(step),
          failed: outcome.failed.map(({ step: one, error }) => ({
            ...step(one),
            message: error instanceof Error ? error.message : String(error),
          })),
        }
      : {}),
  }
}

/** The same value, with addresses that do not say who signs in there, or with which token. */
function withoutLogins(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(/(https?:\/\/)[^\s/?#]*@/gi, '$1…@')
  if (Array.isArray(value)) return value.map(withoutLogins)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutLogins(one)]))
}

function shown(value: unknown): string {
  const text = jsonOf(withoutLogins(value))
  return text.length > valueMax ? `${text.slice(0, valueMax)}…` : text
}
