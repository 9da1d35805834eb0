/** What an agent asks before it does it: whether it may, and why not. */
import { useState, type ReactNode } from 'react'
import { Act } from './act.tsx'
import type { Mutation } from './form.tsx'

/**
 * The buttons.
 * @param input what is sent; `reason` for a refusal that has one.
 */
export function Decision<Data, Input>({
  mutation,
  input,
  children,
}: {
  mutation: Mutation<Data, Input>
  input: (isAllowed: boolean, reason: string | undefined) => Input
  children?: ReactNode
}): ReactNode {
  const [reason, setReason] = useState('')
  return (
    <div className="decision">
      {children}
      <Act mutation={mutation} variables={{ input: input(true, undefined) }} isPrimary>
        Allow
      </Act>
      <Act mutation={mutation} variables={{ input: input(false, reason || undefined) }}>
        Deny
      </Act>
      <input
        aria-label="Why not"
        placeholder="Why not, for the agent"
        value={reason}
        onChange={({ target }) => setReason(target.value)}
      />
    </div>
  )
}
