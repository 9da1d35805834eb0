/** A tool for what was used, and what it cost. */
import { z } from 'zod'
import { countFitting } from '../bounds.ts'
import { tool } from '../tool.ts'

/** It. */
export const usageTools = [
  tool({
    name: 'get_usage',
    title: 'What was used',
    description: 'Answers what models and VMs were used for and cost, by day, by model or VM, or by key.',
    feature: 'usage',
    effect: 'reads',
    keepsToProject: false,
    input: z.object({
      of: z.enum(['inference', 'vms']),
      by: z.enum(['day', 'model', 'key', 'vm']).optional().describe('model and key of inference, vm of vms.'),
      from: z.iso.date().optional().describe('The first day; 30 days ago without it.'),
      to: z.iso.date().optional(),
    }),
    async run({ of, by, from, to }, { ask }) {
      const dimensions = by && [by.toUpperCase()]
      const { usage } = await ask(
        of === 'vms'
          ? 'query ($dimensions: [VmUsageDimension!], $from: String, $to: String) { usage: vmUsage(dimensions: $dimensions, from: $from, to: $to) { from to hasMoreGroups totals { hours costUsd } groups { day vmId vm { name } totals { hours costUsd sessions } } } }'
          : 'query ($dimensions: [InferenceUsageGroupBy!], $from: String, $to: String) { usage: inferenceUsage(dimensions: $dimensions, from: $from, to: $to) { from to hasMoreGroups totals { requests inputTokens outputTokens costUsd } groups { day modelId key { name } user { name } totals { requests inputTokens outputTokens costUsd } } } }',
        { dimensions, from, to },
      )
      const { groups, hasMoreGroups, ...about } = usage as { groups: unknown[]; hasMoreGroups: boolean }
      const count = countFitting(groups)
      return { ...about, hasMoreGroups: hasMoreGroups || count < groups.length, groups: groups.slice(0, count) }
    },
  }),
]
