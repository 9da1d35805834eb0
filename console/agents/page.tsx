/** One agent: what it is, each version of it, and its sessions. */
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import {
  AgentDocument,
  ArchiveAgentDocument,
  CreateSessionDocument,
  DeleteAgentDocument,
  type Agent,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { DemoHint } from '../parts/demo.tsx'
import { Field, TextArea } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { ObjectPage, ReadObject } from '../parts/object.tsx'
import { offers } from '../offers/offers.ts'
import { Picker, PickMany } from '../offers/picker.tsx'
import { plain } from '../parts/plain.ts'
import { SessionTable } from '../sessions/table.tsx'
import { Definition, ServerTools, Versions } from './definition.tsx'
import { ChangeAgent } from './form.tsx'

type Known = NonNullable<Agent['agent']>

/** The page. */
export function AgentPage(): ReactNode {
  return (
    <ReadObject document={AgentDocument} read={({ agent }) => agent} what="agent">
      {(agent) => <Shown agent={agent} />}
    </ReadObject>
  )
}

function Shown({ agent }: { agent: Known }): ReactNode {
  const { id } = agent
  return (
    <ObjectPage
      folder="agents"
      kind="Agents"
      name={agent.name}
      id={agent.id}
      state={agent.archivedAt && <span className="state off">archived</span>}
      actions={<Actions agent={agent} />}
      tabs={[
        [
          'sessions',
          'Sessions',
          () => <SessionTable sessions={agent.sessions?.nodes ?? []} empty="It has had no session yet." />,
        ],
        [
          'definition',
          'Definition',
          () => (
            <>
              <Definition agent={agent} />
              <ServerTools id={id} />
            </>
          ),
        ],
        ['versions', 'Versions', () => <Versions agent={agent} />],
      ]}
    />
  )
}

function Actions({ agent }: { agent: Known }): ReactNode {
  const navigate = useNavigate()
  const [opened, setOpened] = useState<'change' | 'session'>()
  const { id, archivedAt } = agent
  const name = plain(agent.name)
  return (
    <span className="buttons">
      {!archivedAt && (
        <>
          <Open isPrimary={false} onClick={() => setOpened('change')}>
            Change
          </Open>
          <Act
            mutation={ArchiveAgentDocument}
            variables={{ input: { id } }}
            ask={{ question: `Archive ${name}?`, text: 'It begins no session any more. This cannot be undone.' }}
          >
            Archive
          </Act>
        </>
      )}
      <Act
        mutation={DeleteAgentDocument}
        variables={{ input: { id } }}
        ask={{ question: `Delete ${name}?`, text: 'Its versions and all of its sessions go with it.' }}
        onDone={() => void navigate({ to: '..' })}
      >
        Delete
      </Act>
      {!archivedAt && <Open onClick={() => setOpened('session')}>New session</Open>}
      {opened === 'session' && (
        <NewSession agentId={id} modelId={agent.model.id} onClose={() => setOpened(undefined)} />
      )}
      {opened === 'change' && <ChangeAgent {...{ id, agent }} onClose={() => setOpened(undefined)} />}
    </span>
  )
}

function NewSession({
  agentId,
  modelId,
  onClose,
}: {
  agentId: string
  modelId: string
  onClose: () => void
}): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <FormDialog
      title="New session"
      mutation={CreateSessionDocument}
      input={({ text, ids }) => {
        const task = text('task')
        return {
          agentId,
          title: text('title'),
          environmentId: text('environment'),
          ...(ids('vaults')?.length ? { vaultIds: ids('vaults') } : {}),
          ...(task ? { initialEvents: [{ userMessage: { content: [{ text: { text: task } }] } }] } : {}),
        }
      }}
      submit="Begin"
      onDone={({ createSession }) =>
        createSession && void navigate({ to: `/o/${org}/sessions/${createSession.session.id}` })
      }
      onClose={onClose}
    >
      <TextArea name="task" label="What shall it do?" autoFocus />
      <DemoHint modelId={modelId} />
      <Picker
        name="environment"
        label="Environment"
        of={offers.environments}
        none="None: it only talks"
        hint="The machine in which its tools work. Make one under Environments: the first session starts it."
      />
      <PickMany name="vaults" label="Vaults" hint="Whose credentials it may use." of={offers.vaults} />
      <Field name="title" label="Title" placeholder="Chosen for you" />
    </FormDialog>
  )
}
