/** Ends sessions of tool servers that no session goes on with. */
import type { Services } from '#src/platform/services.ts'
import { endLeftMcpSessions, leftSessionsTopic } from '#src/resources/agents/mcp-tools/kept-sessions.ts'
import { keepLookout } from './lookouts.ts'

const everySeconds = 10 // after a deletion, of which there is no notice

/** Ends them until the services are closed. */
export function endToolServerSessions(services: Services): void {
  const look = (): Promise<void> => endLeftMcpSessions(services)
  keepLookout(services, {
    topic: leftSessionsTopic,
    everySeconds,
    hear: look,
    look,
    failure: 'sessions of tool servers could not be ended',
  })
}
