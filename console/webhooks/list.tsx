/** The organization's webhook endpoints. A secret is shown once. */
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { CreateWebhookDocument, WebhooksDocument, type WebhookRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { Secret } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { FormDialog } from '../parts/form.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { WebhookFields, readWebhook } from './form.tsx'
import { WebhookState } from './state.tsx'

const columns: readonly Column<WebhookRow>[] = [
  ['Address', ({ url }) => plain(url)],
  ['State', (endpoint) => <WebhookState endpoint={endpoint} />],
  ['Told of', ({ eventTypes }) => (eventTypes ? `${eventTypes.length} kinds of events` : 'everything')],
  ['What for', ({ description }) => description && plain(description)],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
]

/** The list. */
export function Webhooks(): ReactNode {
  const [made, setMade] = useState<{ id: string; secret: string }>()
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <>
      <List
        title="Webhooks"
        document={WebhooksDocument}
        read={({ webhookEndpoints }) => webhookEndpoints}
        columns={columns}
        folder="webhooks"
        create={{
          title: 'New webhook',
          least: 'ADMIN',
          form: (close) => (
            <FormDialog
              title="New webhook"
              mutation={CreateWebhookDocument}
              input={(given) => readWebhook(given, false)}
              submit="Create"
              onDone={({ createWebhookEndpoint: answer }) => {
                close()
                if (answer) setMade({ id: answer.webhookEndpoint.id, secret: answer.secret })
              }}
              onClose={close}
            >
              <WebhookFields />
            </FormDialog>
          ),
        }}
        empty={
          <p>
            A webhook is an address of yours that is told what happens here, by signed requests:{' '}
            <a href="/docs/webhooks.md">how to check them</a>.
          </p>
        }
      />
      {made && (
        <Dialog title="Your webhook’s secret">
          <Secret
            text={made.secret}
            label="secret that signs its requests"
            onDone={() => void navigate({ to: `/o/${org}/webhooks/${made.id}` })}
          />
        </Dialog>
      )}
    </>
  )
}
