/** What sessions came from, as objects. */
import { builder } from '../builder.ts'
import { rowsOfEach } from '../rows-of-each.ts'
import { findSchedulesOfSessions } from '#src/resources/agents/schedules/runs.ts'
import { findPeerExchangesOfSessions } from '#src/resources/agents/peers.ts'
import { findTriggersOfSessions } from '#src/resources/agents/triggers.ts'
import { findDeployments } from '#src/resources/agents/deployments.ts'
import { encodeId } from '#src/platform/ids.ts'
import { deploymentType } from './deployments.ts'
import { peerExchangeType } from './peers.ts'
import { scheduleType } from './schedules.ts'
import { sessionType } from './sessions.ts'
import { triggerType } from './triggers.ts'

const deploymentOf = rowsOfEach(findDeployments, ({ id }) => id)

const scheduleOf = rowsOfEach(findSchedulesOfSessions, ({ sessionId }) => sessionId)

const triggerOf = rowsOfEach(findTriggersOfSessions, ({ sessionId }) => sessionId)

const peerExchangeOf = rowsOfEach(findPeerExchangesOfSessions, ({ responderSessionId }) => responderSessionId)

const sessionSource = builder.unionType('SessionSource', {
  description: 'What a session came from, where nobody called.',
  types: [deploymentType, scheduleType, triggerType, peerExchangeType],
  resolveType(source) {
    if ('requestText' in source) return 'PeerExchange'
    return 'cron' in source ? 'Schedule' : 'repo' in source ? 'Trigger' : 'Deployment'
  },
})

builder.objectFields(sessionType, (t) => ({
  deploymentId: t.id({
    nullable: true,
    description: 'The deployment that it is a run of; still there when the deployment is deleted.',
    resolve: ({ deploymentId }) => deploymentId && encodeId('deployment', deploymentId),
  }),
  deployment: t.field({
    type: deploymentType,
    nullable: true,
    description: 'The deployment that it is a run of, as an object; null once it is deleted.',
    resolve: ({ deploymentId }) => deploymentId,
  }),
  source: t.field({
    type: sessionSource,
    nullable: true,
    description: 'What started it, as an object; null where a caller did, and once that is deleted.',
    resolve: ({ id, source, deploymentId }, _, call) => {
      if (source === 'schedule') return scheduleOf(call, id)
      if (source === 'trigger') return triggerOf(call, id)
      if (source === 'peer') return peerExchangeOf(call, id)
      return deploymentId === null ? null : deploymentOf(call, deploymentId)
    },
  }),
}))
