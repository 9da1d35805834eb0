/** One trigger: what became of each event, and what it would do with another. */
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { Switch } from '../automation/switch.tsx'
import {
  DeleteTriggerDocument,
  TriggerDocument,
  TryTriggerDocument,
  type Trigger,
  type TriggerFireRow,
  type TryTrigger,
  UpdateTriggerDocument,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Age } from '../parts/age.tsx'
import { Facts, ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { State, wordOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { ChangeTrigger } from './form.tsx'
import { Trial, TryEvent } from './trial.tsx'

type Known = NonNullable<Trigger['trigger']>

/** The page. */
export function TriggerPage(): ReactNode {
  return (
    <ReadObject document={TriggerDocument} read={({ trigger }) => trigger} what="trigger">
      {(trigger) => <Shown trigger={trigger} />}
    </ReadObject>
  )
}

function Shown({ trigger }: { trigger: Known }): ReactNode {
  const { id } = trigger
  return (
    <ObjectPage
      folder="automation/triggers"
      kind="Triggers"
      name={trigger.repo}
      id={id}
      state={!trigger.isEnabled && <span className="state off">off</span>}
      actions={<Actions trigger={trigger} />}
      tabs={[
        ['fires', 'Fires', () => <Fires trigger={trigger} />],
        ['definition', 'Definition', () => <Definition trigger={trigger} />],
      ]}
    />
  )
}

function Actions({ trigger }: { trigger: Known }): ReactNode {
  const navigate = useNavigate()
  const [isChanging, setIsChanging] = useState(false)
  return (
    <span className="buttons">
      <Open isPrimary={false} onClick={() => setIsChanging(true)}>
        Change
      </Open>
      <Switch mutation={UpdateTriggerDocument} of={trigger} />
      <Act
        mutation={DeleteTriggerDocument}
        variables={{ input: { id: trigger.id } }}
        ask={{
          question: `Delete the trigger of ${plain(trigger.repo)}?`,
          text: 'The records of its fires go with it. Their sessions stay.',
        }}
        onDone={() => void navigate({ to: '..' })}
      >
        Delete
      </Act>
      {isChanging && <ChangeTrigger trigger={trigger} onClose={() => setIsChanging(false)} />}
    </span>
  )
}

function Fires({ trigger: { id, fires } }: { trigger: Known }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const [isTrying, setIsTrying] = useState(false)
  const [trial, setTrial] = useState<TryTrigger['tryTrigger']>(null)
  return (
    <>
      <p className="buttons">
        <Open isPrimary={false} onClick={() => setIsTrying(true)}>
          Try an event
        </Open>
      </p>
      {trial && <Trial trial={trial} />}
      {fires.nodes.length === 0 ? (
        <p className="soft">No event has come for it yet. Try one: it starts nothing.</p>
      ) : (
        <Table label="Fires" heads={['Event', 'By', 'When', 'Status', 'What came of it', 'Now']}>
          {fires.nodes.map((fire) => (
            <tr key={fire.id}>
              <td>{plain(eventOf(fire))}</td>
              <td>{plain(fire.sender?.login ?? '')}</td>
              <td>
                <Age at={fire.receivedAt} />
              </td>
              <td>
                <State status={fire.fireStatus} />
              </td>
              <td>
                {fire.sessionId ? (
                  <Link to={`/o/${org}/sessions/${fire.sessionId}`}>{fire.sessionId}</Link>
                ) : (
                  plain(fire.error?.message ?? (fire.skipReason ? wordOf(fire.skipReason) : ''))
                )}
              </td>
              <td>
                <Act
                  mutation={TryTriggerDocument}
                  variables={{ input: { id, fireId: fire.id } }}
                  onDone={({ tryTrigger }) => setTrial(tryTrigger)}
                >
                  Try it now
                </Act>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {isTrying && (
        <TryEvent
          id={id}
          onDone={({ tryTrigger }) => {
            setIsTrying(false)
            setTrial(tryTrigger)
          }}
          onClose={() => setIsTrying(false)}
        />
      )}
    </>
  )
}

function eventOf({ event, action, number, ref }: TriggerFireRow): string {
  return [action ? `${event}.${action}` : event, number === null ? ref : `#${number}`].filter(Boolean).join(' ')
}

function Definition({ trigger }: { trigger: Known }): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const { agent, agentReference, deployment, deploymentId, events, filters } = trigger
  const { branches, paths, labels, commentPrefix, authorAssociations, allowForks, allowBots } = filters
  const all = (some: readonly string[] | null): string => (some ? plain(some.join(', ')) : 'all')
  return (
    <Facts
      facts={[
        ['Events', events.map(wordOf).join(', ')],
        [
          'Agent',
          <Link key="agent" to={`/o/${org}/agents/${agentReference.id}`}>
            {plain(agent?.name ?? agentReference.id)}
          </Link>,
        ],
        ['Version', agentReference.version ?? 'the newest'],
        [
          'Deployment',
          deploymentId ? (
            <Link key="deployment" to={`/o/${org}/automation/deployments/${deploymentId}`}>
              {plain(deployment?.name ?? deploymentId)}
            </Link>
          ) : (
            'none'
          ),
        ],
        ['Branches', all(branches)],
        ['Files', all(paths)],
        ['Labels', all(labels)],
        ['A comment begins with', commentPrefix ? plain(commentPrefix) : 'anything'],
        ['Written by', authorAssociations.map(wordOf).join(', ')],
        ['Code of forks', allowForks ? 'yes' : 'no'],
        ['What bots did', allowBots ? 'yes' : 'no'],
        ['Made', <Age key="made" at={trigger.createdAt} />],
      ]}
    />
  )
}
