/** `berth apply`. */
import { isSamePlan, makePlan, type Plan, type Pruning } from '../apply/plan.ts'
import { perform, type Outcome } from '../apply/performing.ts'
import { countsOf, jsonOfPlan, lineOfStep, printPlan } from '../apply/printing.ts'
import { readDescribed } from '../apply/reading.ts'
import { readWorld, type World } from '../apply/world.ts'
import { exitOf, exits, Failure, sentenceOf, UsageError } from '../errors.ts'
import type { Cli, Given, Noun } from '../grammar.ts'
import { whileItGoesOn } from '../interrupts.ts'
import { confirm } from '../prompts.ts'
import { lineOf, linesOf } from '../text.ts'

const namedMax = 5 // of what is deleted, in the question

/** Makes Berth have what a file says. */
export const apply: Noun = {
  alone: {
    options: [
      ['-f, --file <path>', 'what shall be there, as YAML or JSON; - is stdin'],
      ['--plan', `only print what would change, and end with ${exits.changes} if anything would`],
      ['--dry-run', 'the same as --plan'],
      ['--prune', 'delete what its project has and its sections do not name: VMs and databases'],
      ['--prune-all', 'the same, and of its other sections whatever they do not name'],
      ['--no-wait', 'do not wait until VMs and databases that are made can be used'],
    ],
    async run(cli, _args, options) {
      const file = options.text('file')
      if (file === undefined) throw new UsageError('Pass -f with a file, or -f - for stdin.')
      const described = await readDescribed(file)
      const pruning = pruningOf(options, described.project)
      const berth = await cli.berth()
      const look = async (): Promise<{ world: World; plan: Plan }> => {
        const world = await readWorld(berth, described)
        return { world, plan: await makePlan(berth, described, world, pruning) }
      }
      let { world, plan } = await look()
      const isPlan = options.flag('plan') || options.flag('dry-run')
      if (!cli.out.isJson) printPlan(cli.out, plan)
      if (isPlan || plan.steps.length === 0) {
        if (cli.out.isJson) cli.out.json(jsonOfPlan(plan))
        return plan.steps.length === 0 ? 0 : exits.changes
      }
      await confirm(questionOf(plan), cli.isConfirmed)
      if (!cli.isConfirmed) {
        const shown = plan
        ;({ world, plan } = await look()) // whoever was asked may have taken their time
        if (!isSamePlan(shown, plan))
          throw new Failure(
            'What is there has changed since this plan was made, so nothing was done. Run it again for a new plan.',
            exits.conflict,
          )
      }
      const outcome = await whileItGoesOn(
        'What was begun is done all the same. Apply the file again to go on.',
        perform(berth, plan, {
          described,
          world,
          isWaiting: options.flag('wait'),
          tell: (step) => cli.out.note(`done: ${lineOfStep(step)}`),
        }),
      )
      if (cli.out.isJson) cli.out.json(jsonOfPlan(plan, outcome))
      return report(cli, plan, outcome)
    },
  },
}

function pruningOf(options: Given, project: string | null): Pruning {
  if (options.flag('prune-all')) return 'all'
  if (!options.flag('prune')) return 'none'
  if (project === null)
    throw new UsageError(
      'The file names no project, so --prune has nothing to look through. Write project: at its top, or pass --prune-all.',
    )
  return 'project'
}

function questionOf(plan: Plan): string {
  const counts = countsOf(plan)
  const others = counts.create + counts.change
  if (counts.delete === 0) return `Create ${counts.create} and change ${counts.change}?`
  const deleted = plan.steps
    .filter((step) => step.action === 'delete')
    .map(({ section, name }) => `${section}.${lineOf(name)}`)
  const named = deleted.length > namedMax ? [...deleted.slice(0, namedMax), 'others'] : deleted
  return `Delete ${counts.delete} (${named.join(', ')})${others > 0 ? `, create ${counts.create} and change ${counts.change}` : ''}?`
}

/** Says what failed and what was not begun. @returns the exit code. */
function report(cli: Cli, plan: Plan, { done, failed }: Outcome): number {
  const [first] = failed
  if (!first) {
    cli.out.note(`Done: ${done.length} of ${plan.steps.length}.`)
    return 0
  }
  for (const { step, error } of failed) cli.out.ask(`failed: ${lineOfStep(step)}: ${linesOf(sentenceOf(error))}`)
  const begun = new Set([...done, ...failed.map(({ step }) => step)])
  for (const step of plan.steps) if (!begun.has(step)) cli.out.ask(`not done: ${lineOfStep(step)}`)
  cli.out.ask(`${done.length} of ${plan.steps.length} are done. Apply the file again to go on.`)
  return exitOf(first.error)
}
