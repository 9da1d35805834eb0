/** Files of agents and folders of machines are two lists. */
import type { ReactNode } from 'react'
import { Ways } from '../parts/ways.tsx'

const lists = [
  ['files', 'Files of agents'],
  ['files/folders', 'Folders of VMs'],
] as const

/** The way between them. */
export function FileTabs(): ReactNode {
  return <Ways label="Files" lists={lists} />
}
