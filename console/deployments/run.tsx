/** Runs a deployment now, and leads to the session; where none begins, the page says why. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { RunDeploymentDocument } from '../generated/documents.ts'
import { Act } from '../parts/act.tsx'

/** The button. */
export function RunNow({ id, isPrimary = false }: { id: string; isPrimary?: boolean }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <Act
      mutation={RunDeploymentDocument}
      variables={{ input: { id } }}
      isPrimary={isPrimary}
      onDone={({ runDeployment }) => {
        const session = runDeployment?.deploymentRun?.sessionId
        void navigate(
          session
            ? { to: `/o/${org}/sessions/${session}` }
            : { to: `/o/${org}/automation/deployments/${id}`, search: { tab: 'runs' } as never },
        )
      }}
    >
      Run
    </Act>
  )
}
