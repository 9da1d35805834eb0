/** How far VMs are that are being created or started, in GraphQL. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import type { Startup } from '#src/resources/infra/vms/startup.ts'

const step = enumOf(
  'VmStartupStep',
  'What is done for a VM that is being created or started; in this order, without what it does not need.',
  {
    placing:
      'It has its place on a machine, whose worker has not said more yet: it takes it up, or takes less than a second.',
    building_template: 'Its template is built on its machine, which happens once; `statusReason` says how far that is.',
    starting_machine: 'Its machine is started.',
    waiting_for_server: 'The server in it does not let anybody in yet; `statusReason` says why.',
    preparing_guest: 'It is given its variables.',
    cloning_repositories: 'Its repositories are cloned.',
    joining_project: 'It is connected to the databases of its project.',
  } satisfies Record<Startup['step'], string>,
)

/** How far a VM is. */
export const startup = builder.objectRef<Startup>('VmStartup').implement({
  description: 'How far a VM is that is being created or started.',
  fields: (t) => ({
    step: t.field({
      type: step,
      description: 'At which step it is. One of less than about a second is not told of.',
      resolve: (shown) => shown.step,
    }),
    attempt: t.exposeInt('attempt', { description: 'Which attempt this is, from 1.' }),
    attemptsMax: t.exposeInt('attemptsMax', { description: 'After how many of them it is in `ERROR`.' }),
    since: t.expose('since', { type: 'DateTime', description: 'When this step began.' }),
  }),
})
