/** Usage: how long VMs ran, and what that costs. */
import type { Routes } from '../routes.ts'

/** Usage sessions. */
export const usageRoutes: Routes = {
  'GET /api/v1/usage': {
    status: 200,
    errors: [400, 401, 500],
    summary: 'Usage sessions of the organization’s VMs, newest first',
    operation: `query ($limit: Int, $offset: Int) { body: usage(limit: $limit, offset: $offset) {
      sessions { id vm_id: vmId started_at: startedAt ended_at: endedAt end_reason: endReason vcpu_count: vcpuCount memory_mb: memoryMb
        cost_per_hour: costPerHour duration_minutes: durationMinutes total_cost_billed: totalCostBilled } limit offset } }`,
  },
}
