/** A button that says why it cannot be used: it keeps its place among the keys, and its reason is read and seen there. */
import { useId, type ComponentProps, type ReactNode } from 'react'

type ButtonProps = Pick<ComponentProps<'button'>, 'type' | 'onClick' | 'children'> & {
  /** Why it cannot be used, as a sentence; undefined while it can. */
  why?: string | undefined
  /** Whether what it began is under way. */
  isBusy?: boolean
  isPrimary?: boolean
  /** Whether it ends what cannot be brought back. */
  isDestructive?: boolean
}

/** As HTML's, but for one that is off: it can be focused, and nothing happens. */
export function Button({
  type = 'button',
  why,
  isBusy = false,
  isPrimary = false,
  isDestructive = false,
  onClick,
  children,
}: ButtonProps): ReactNode {
  const id = useId()
  const isOff = why !== undefined || isBusy
  return (
    <span className="reasoned">
      <button
        type={type}
        className={isDestructive ? 'primary destructive' : isPrimary ? 'primary' : undefined}
        aria-disabled={isOff || undefined}
        aria-describedby={why === undefined ? undefined : id}
        onClick={(event) => {
          if (isOff) event.preventDefault()
          else onClick?.(event)
        }}
      >
        {children}
      </button>
      {why !== undefined && (
        <span id={id} role="tooltip" className="why">
          {why}
        </span>
      )}
    </span>
  )
}
