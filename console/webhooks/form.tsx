/** The form of a webhook endpoint, new or to be changed. */
import type { ReactNode } from 'react'
import { useKeptQuery } from '../app/kept.ts'
import { WebhookEventTypesDocument, type WebhookEventType, type WebhookRow } from '../generated/documents.ts'
import { Checks, Field } from '../parts/field.tsx'
import type { Given } from '../parts/given.ts'
import { wordOf } from '../parts/state.tsx'

/** What the form holds. Without a type that is chosen, everything is told; while they are not shown, they stay as they are. */
export function readWebhook(
  { text, all }: Given,
  isChange: boolean,
): { url: string; description: string | null; eventTypes?: WebhookEventType[] | null } {
  const chosen = all('types')
  return {
    url: text('url') ?? '',
    description: text('description') ?? (isChange ? '' : null),
    ...(chosen ? { eventTypes: chosen.length > 0 ? (chosen as WebhookEventType[]) : null } : {}), // the boxes are those of the enum
  }
}

/** Its fields. */
export function WebhookFields({ endpoint }: { endpoint?: WebhookRow }): ReactNode {
  const [{ data }] = useKeptQuery({ query: WebhookEventTypesDocument })
  const types = data?.__type?.enumValues ?? []
  return (
    <>
      <Field
        name="url"
        label="Address"
        type="url"
        required
        autoFocus
        placeholder="https://example.com/berth"
        defaultValue={endpoint?.url}
        hint="Where the signed requests go."
      />
      <Field name="description" label="What for" defaultValue={endpoint?.description ?? undefined} />
      <details>
        <summary>Only of some things; of everything, when none is chosen</summary>
        {types.length > 0 && (
          <Checks
            name="types"
            label="What it is told of"
            options={types.map(({ name, description }) => [name, `${wordOf(name)}: ${description ?? ''}`] as const)}
            chosen={endpoint?.eventTypes ?? []}
          />
        )}
      </details>
    </>
  )
}
