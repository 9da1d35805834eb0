/** Running a deployment now. */
import { builder } from '../../builder.ts'
import { idField } from '../../mutations.ts'
import { runDeployment } from '#src/resources/agents/deployments.ts'
import { sessionType } from '../sessions.ts'
import { deploymentRunType } from './runs.ts'

builder.relayMutationField(
  'runDeployment',
  { description: 'What `runDeployment` takes.', inputFields: idField },
  {
    description:
      'Starts a session now, also of a paused deployment. What kept it from starting is recorded too: the error has `deploymentRunId`. Errors: NOT_FOUND, RESOURCE_ARCHIVED, VAULT_ARCHIVED, RUN_NOT_STARTED, NO_ACTIVE_PLAN, INSUFFICIENT_CREDITS, BUDGET_EXCEEDED, RATE_LIMITED.',
    resolve: (_, { input }, call) => runDeployment(call, input.id),
  },
  {
    description: 'What `runDeployment` answers.',
    outputFields: (t) => ({
      deploymentRun: t.field({
        type: deploymentRunType,
        nullable: true,
        description: 'Its record.',
        resolve: ({ run }) => run,
      }),
      session: t.field({
        type: sessionType,
        nullable: true,
        description: 'The session that started.',
        resolve: ({ session }) => session,
      }),
    }),
  },
)
