/** The capabilities of a model in the types of Anthropic's client, together with Berth's own. */
import type { ReasoningLevel } from '#src/drivers/models/model.ts'
import type { Model } from './rows.ts'

/**
 * The stages of a model's life cycle by which a list can be filtered. None is ever `retired`, because only available
 * models are listed.
 */
export const lifecycles = ['active', 'deprecated', 'retired'] as const
export type Lifecycle = (typeof lifecycles)[number]

/** The stage of a model in its life cycle. */
export function lifecycleOf({ status }: Pick<Model, 'status'>): Lifecycle {
  return status === 'available' ? 'active' : 'deprecated'
}

/** Whether a model supports something. */
export type Support = { supported: boolean }

/** What a model can do as REST shows it, in camelCase. */
export type WireCapabilities = ReturnType<typeof wireCapabilities>

/**
 * The capabilities: `{supported}` for each one in Anthropic's API, and `tools`, `vision`, `pdf` and `streaming` as
 * booleans. Capabilities that Berth does not pass on, such as batches, are never supported here.
 */
export function wireCapabilities({ capabilities, reasoningLevels }: Pick<Model, 'capabilities' | 'reasoningLevels'>) {
  const { tools, vision, pdf, structuredOutputs, streaming } = capabilities
  const can = (level: ReasoningLevel): Support => support(reasoningLevels.includes(level))
  const reasons = reasoningLevels.some((level) => level !== 'none')
  return {
    tools,
    vision,
    pdf,
    streaming,
    batch: support(false),
    citations: support(false),
    codeExecution: support(false),
    contextManagement: support(false),
    effort: {
      supported: reasons,
      low: can('low'),
      medium: can('medium'),
      high: can('high'),
      xhigh: can('xhigh'),
      max: can('max'),
    },
    imageInput: support(vision),
    pdfInput: support(pdf),
    structuredOutputs: support(structuredOutputs),
    serverTools: { supported: false, codeExecution: support(false), webSearch: support(false) },
    thinking: {
      supported: reasons,
      types: {
        adaptive: support(false),
        betweenTools: support(reasons && tools),
        disabled: support(!reasons || reasoningLevels.includes('none')),
        enabled: support(reasons),
      },
    },
  }
}

function support(supported: boolean): Support {
  return { supported }
}
