/**
 * The listeners of each noun's hooks, all of nouns above it, in the order in which they run, in the noun's transaction. Every
 * process that changes nouns imports this.
 */
import { hooksAreWired } from '#src/platform/postgres/hooks.ts'
import { agentDeleting, agentDeletionAsked } from './agents/agents.ts'
import { deploymentLocking, deploymentScheduling } from './agents/deployments.ts'
import { environmentEnding } from './agents/environments.ts'
import { briefingOf } from './agents/groups/briefings.ts'
import { followRunTask } from './agents/groups/conversation.ts'
import { messageOfExchange } from './agents/peers/messages.ts'
import { followExchangeTask } from './agents/peers/following.ts'
import { lockSchedulesOf, setScheduleOf } from './agents/schedules/of-deployments.ts'
import { endWorkOf, sessionDeleting } from './agents/sessions/deletion.ts'
import { taskEventsAppended } from './agents/sessions/log.ts'
import { sessionMoved, sessionStillWaits } from './agents/sessions/states.ts'
import { refuseAgentAtWork } from './agents/sessions/work.ts'
import { serveTasks } from './agents/tasks/kinds.ts'
import { failTasksOf, followSessionMove, followSessionWait } from './agents/tasks/moves.ts'
import { streamEvents } from './agents/tasks/streams.ts'
import { failSessionsOf } from './agents/turns/breaking-off.ts'
import { codeHostLinkRemoving } from './infra/code-host/connections.ts'
import { noteVmOfDatabase } from './infra/databases/jobs.ts'
import { unlinkDatabasesOfFunction } from './infra/databases/links.ts'
import { unlinkDomainsOfFunction, unlinkDomainsOfVm } from './infra/domains/links.ts'
import { noteVmOfFunction } from './infra/functions/jobs.ts'
import { functionDeleting } from './infra/functions.ts'
import { projectDeleting } from './infra/projects.ts'
import { removeProxiesOfVm } from './infra/proxies/rows.ts'
import { endTerminalsOf } from './infra/terminals/records.ts'
import { leaveCodeHostLink } from './infra/vms/code-host.ts'
import { detachVms } from './infra/vms/rows.ts'
import { hostedVmStepped, vmDeleting } from './infra/vms/states.ts'

environmentEnding.on(failSessionsOf)
agentDeletionAsked.on(refuseAgentAtWork)
agentDeleting.on(endWorkOf)

sessionMoved.on(followSessionMove)
sessionStillWaits.on(followSessionWait)
taskEventsAppended.on(streamEvents)
sessionDeleting.on(failTasksOf)

serveTasks({
  group_run: { message: briefingOf, moved: followRunTask },
  peer_exchange: { message: messageOfExchange, moved: followExchangeTask },
})

deploymentLocking.on(lockSchedulesOf)
deploymentScheduling.on(setScheduleOf)

projectDeleting.on(detachVms)

codeHostLinkRemoving.on(leaveCodeHostLink)

vmDeleting.on(endTerminalsOf)
vmDeleting.on(removeProxiesOfVm)
vmDeleting.on(unlinkDomainsOfVm)

hostedVmStepped.on(noteVmOfDatabase)
hostedVmStepped.on(noteVmOfFunction)

functionDeleting.on(unlinkDomainsOfFunction)
functionDeleting.on(unlinkDatabasesOfFunction)

hooksAreWired()
