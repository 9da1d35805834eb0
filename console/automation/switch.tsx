/** What begins sessions by itself is switched off, and on again. */
import type { ReactNode } from 'react'
import { Act } from '../parts/act.tsx'
import type { Mutation } from '../parts/form.tsx'

/** The button. @param of a schedule or a trigger. */
export function Switch<Data>({
  mutation,
  of: { id, isEnabled },
}: {
  mutation: Mutation<Data, { id: string; enabled: boolean }>
  of: { id: string; isEnabled: boolean }
}): ReactNode {
  return (
    <Act mutation={mutation} variables={{ input: { id, enabled: !isEnabled } }}>
      {isEnabled ? 'Switch off' : 'Switch on'}
    </Act>
  )
}
