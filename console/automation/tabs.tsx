/** What begins sessions without a person is in three lists. */
import type { ReactNode } from 'react'
import { Ways } from '../parts/ways.tsx'

const lists = [
  ['automation/deployments', 'Deployments'],
  ['automation/schedules', 'Schedules'],
  ['automation/triggers', 'Triggers'],
] as const

/** The way between them. */
export function AutomationTabs(): ReactNode {
  return <Ways label="Automation" lists={lists} place="automation" />
}
