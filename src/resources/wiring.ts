/**
 * Which noun takes part in what happens to a noun below it, in the order in which they do, in the same transaction. Whatever
 * process changes nouns imports this once.
 */
import { hooksAreWired } from '#src/platform/postgres/hooks.ts'
import { linkRemoving } from './infra/code-host/connections.ts'
import { projectDeleting } from './infra/projects.ts'
import { leaveCodeHostLink } from './infra/vms/code-host.ts'
import { detachVms } from './infra/vms/rows.ts'

projectDeleting.on(detachVms)

linkRemoving.on(leaveCodeHostLink)

hooksAreWired()
