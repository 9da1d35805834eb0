/** A dialog over the page: it takes the focus, keeps it, and gives it back. */
import { Dialog as Base } from '@base-ui/react/dialog'
import type { ReactNode } from 'react'

/** @param onClose without it, the dialog stays until what is in it is done. */
export function Dialog({
  title,
  children,
  onClose,
}: {
  title: string
  children: ReactNode
  onClose?: () => void
}): ReactNode {
  return (
    <Base.Root open onOpenChange={(isOpen) => void (!isOpen && onClose?.())}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className="dialog">
          <Base.Title render={<h2 />}>{title}</Base.Title>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
