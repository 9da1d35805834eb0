/** One webhook endpoint: what it was told, and what it answered. */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { useReadAgain } from '../app/again.ts'
import {
  DeleteWebhookDocument,
  ReplayDeliveryDocument,
  RotateWebhookSecretDocument,
  TestWebhookDocument,
  UpdateWebhookDocument,
  WebhookAttemptsDocument,
  WebhookDocument,
  type DeliveryRow,
  type Webhook,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Secret } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { FormDialog } from '../parts/form.tsx'
import { Facts, ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain, plainOutput } from '../parts/plain.ts'
import { State, wordOf } from '../parts/state.tsx'
import { WebhookFields, readWebhook } from './form.tsx'
import { WebhookState } from './state.tsx'

type Known = NonNullable<Webhook['webhookEndpoint']>

/** The page. */
export function WebhookPage(): ReactNode {
  return (
    <ReadObject document={WebhookDocument} read={({ webhookEndpoint }) => webhookEndpoint} what="webhook">
      {(endpoint, again) => <Shown endpoint={endpoint} again={again} />}
    </ReadObject>
  )
}

function Shown({ endpoint, again }: { endpoint: Known; again: () => void }): ReactNode {
  useReadAgain(WebhookAttemptsDocument, endpoint.id, again)
  return (
    <ObjectPage
      folder="webhooks"
      kind="Webhooks"
      name={endpoint.url}
      id={endpoint.id}
      state={<WebhookState endpoint={endpoint} />}
      actions={<Actions endpoint={endpoint} again={again} />}
      tabs={[
        ['deliveries', 'Deliveries', () => <Deliveries endpoint={endpoint} />],
        ['settings', 'Settings', () => <Settings endpoint={endpoint} />],
      ]}
    />
  )
}

function Actions({ endpoint, again }: { endpoint: Known; again: () => void }): ReactNode {
  const { id, url, isEnabled } = endpoint
  const [secret, setSecret] = useState<string>()
  const [isChanging, setIsChanging] = useState(false)
  const navigate = useNavigate()
  const close = (): void => setIsChanging(false)
  return (
    <span className="buttons">
      <Act mutation={UpdateWebhookDocument} variables={{ input: { id, enabled: !isEnabled } }} least="ADMIN">
        {isEnabled ? 'Disable' : 'Enable'}
      </Act>
      <Open least="ADMIN" isPrimary={false} onClick={() => setIsChanging(true)}>
        Change
      </Open>
      <Act
        mutation={RotateWebhookSecretDocument}
        variables={{ input: { id } }}
        least="ADMIN"
        ask={{
          question: 'A new secret?',
          text: `Requests to ${plain(url)} are signed with it, and with the one before for a day.`,
          submit: 'Make it',
        }}
        onDone={({ rotateWebhookEndpointSecret }) => setSecret(rotateWebhookEndpointSecret?.secret)}
      >
        New secret
      </Act>
      <Act
        mutation={DeleteWebhookDocument}
        variables={{ input: { id } }}
        least="ADMIN"
        ask={{
          question: `Delete ${plain(url)}?`,
          text: 'It is told of nothing any more, and the log of its deliveries is gone. This cannot be undone.',
          submit: 'Delete the webhook',
        }}
        onDone={() => void navigate({ to: '..' })}
      >
        Delete
      </Act>
      <Act
        mutation={TestWebhookDocument}
        variables={{ input: { id } }}
        least="ADMIN"
        isPrimary
        why={isEnabled ? undefined : 'It is disabled: enable it first.'}
        onDone={again}
      >
        Send a test
      </Act>
      {isChanging && (
        <FormDialog
          title="Change the webhook"
          mutation={UpdateWebhookDocument}
          input={(given) => ({ id, ...readWebhook(given, true) })}
          submit="Change"
          onDone={close}
          onClose={close}
        >
          <WebhookFields endpoint={endpoint} />
        </FormDialog>
      )}
      {secret && (
        <Dialog title="Your webhook’s secret">
          <Secret text={secret} label="secret that signs its requests" onDone={() => setSecret(undefined)} />
        </Dialog>
      )}
    </span>
  )
}

function Deliveries({ endpoint: { deliveries } }: { endpoint: Known }): ReactNode {
  const rows = deliveries?.nodes ?? []
  if (rows.length === 0)
    return (
      <div className="empty">
        <p>It was told of nothing yet. Send a test to see what it answers.</p>
      </div>
    )
  return (
    <>
      {rows.map((delivery) => (
        <Delivery key={delivery.id} delivery={delivery} />
      ))}
      {deliveries && deliveries.totalCount > rows.length && (
        <p className="soft">
          There are {deliveries.totalCount}; these are the newest {rows.length}.
        </p>
      )}
    </>
  )
}

function Delivery({ delivery }: { delivery: DeliveryRow }): ReactNode {
  const { id, deliveryStatus, event, attempts, attemptCount, nextAttemptAt, createdAt } = delivery
  return (
    <article className="run" aria-label={`${wordOf(event?.type ?? '')}, ${wordOf(deliveryStatus)}`}>
      <div className="buttons">
        <State status={deliveryStatus} />
        <strong>{wordOf(event?.type ?? 'an event')}</strong>
        {event && <code>{plain(event.subjectId)}</code>}
        <small>
          <Age at={createdAt} />
          {nextAttemptAt && (
            <>
              , again <Age at={nextAttemptAt} />
            </>
          )}
        </small>
        <span className="grow" />
        <Act
          mutation={ReplayDeliveryDocument}
          variables={{ input: { id } }}
          least="ADMIN"
          why={deliveryStatus === 'PENDING' ? 'It is being delivered already.' : undefined}
        >
          Redeliver
        </Act>
      </div>
      <details>
        <summary>{attemptCount === 1 ? '1 attempt' : `${attemptCount} attempts`}</summary>
        <ul>
          {attempts.map(({ number, startedAt, durationMs, responseStatus, problem, answer }) => (
            <li key={number}>
              {responseStatus ?? 'no answer'}, {durationMs} ms, <Age at={startedAt} />
              {problem && <p className="bad">{plain(problem)}</p>}
              {answer && <pre tabIndex={0}>{plainOutput(answer)}</pre>}
            </li>
          ))}
        </ul>
      </details>
    </article>
  )
}

function Settings({ endpoint }: { endpoint: Known }): ReactNode {
  const { description, eventTypes, failuresInARow, lastProblem, heldUntil, previousSecretUntil, createdAt } = endpoint
  return (
    <Facts
      facts={[
        ['What for', description && plain(description)],
        ['Told of', eventTypes ? eventTypes.map((type) => wordOf(type)).join(', ') : 'everything'],
        ['Failures in a row', failuresInARow],
        ['Last problem', lastProblem && plain(lastProblem)],
        ['Left alone', heldUntil && <Age key="held" at={heldUntil} />],
        ['The secret before signs too', previousSecretUntil && <Age key="previous" at={previousSecretUntil} />],
        ['Made', <Age key="made" at={createdAt} />],
      ]}
    />
  )
}
