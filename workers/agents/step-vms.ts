/** The VM that a step works in. */
import { ensureEnvironmentVm } from '#src/resources/agents/environments/vms.ts'
import type { Vm } from '#src/resources/infra/vms/rows.ts'
import type { StepRun } from './step-runs.ts'

/** The VM of the session's environment, running. @throws BerthError when it is not available; the signal's reason. */
export async function sessionVm(run: StepRun, environmentId: string): Promise<Vm> {
  return ensureEnvironmentVm(run.services, environmentId, { mcpHosts: mcpHostsOf(run), signal: run.over })
}

function mcpHostsOf({ session: { agentDefinition } }: StepRun): string[] {
  return agentDefinition.mcp_servers.flatMap(({ url }) => URL.parse(url)?.hostname ?? [])
}
