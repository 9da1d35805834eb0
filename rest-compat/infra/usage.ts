/** Usage: how long VMs ran, and what that cost. */
import { limits } from '#src/platform/limits.ts'
import type { Routes } from '../routes.ts'

/** Usage sessions. */
export const usageRoutes: Routes = {
  'GET /api/v1/usage': {
    status: 200,
    errors: [400, 401, 500],
    summary: 'Usage sessions of the organization’s VMs, newest first',
    list: { shape: 'rows', most: limits.usagePageMax, usual: limits.usagePageDefault, key: 'sessions', echoes: true },
    operation: `query listUsage ($first: Int, $offset: Int) { body: usage(first: $first, offset: $offset) {
      nodes { id: number vm_id: vmId started_at: startedAt ended_at: endedAt end_reason: endReason vcpu_count: vcpuCount memory_mb: memoryMb
        cost_per_hour: costPerHourNumber duration_minutes: durationMinutes total_cost_billed: totalCostBilledNumber } } }`,
  },
}
