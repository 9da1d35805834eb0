/** One function: its log as it comes, and its versions. */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import type { Keeping } from '../app/keeping.ts'
import { useStream } from '../app/streams.ts'
import {
  DeleteFunctionDocument,
  FunctionDocument,
  FunctionLogDocument,
  RollBackFunctionDocument,
  UpdateFunctionDocument,
  type Function as Answer,
  type FunctionLog,
} from '../generated/documents.ts'
import { Act, Open } from '../parts/act.tsx'
import { Age, sizeOf } from '../parts/age.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { LogLines } from '../parts/log-lines.ts'
import { Log } from '../parts/log.tsx'
import { Facts, ObjectPage, ReadObject } from '../parts/object.tsx'
import { plain } from '../parts/plain.ts'
import { Problem } from '../parts/problem.tsx'
import { State } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Deploy, readVariables, VariablesField } from './deploy.tsx'
import { Invoke } from './invoke.tsx'

type Known = NonNullable<Answer['function']>
type Entry = Extract<FunctionLog['functionLogEvents'], { cursor: string }>

/** The page. */
export function FunctionPage(): ReactNode {
  return (
    <ReadObject document={FunctionDocument} read={(data) => data.function} what="function">
      {(one) => <Shown one={one} />}
    </ReadObject>
  )
}

function Shown({ one }: { one: Known }): ReactNode {
  return (
    <ObjectPage
      folder="functions"
      kind="Functions"
      name={one.name}
      id={one.id}
      state={<State status={one.functionStatus} />}
      actions={<Actions one={one} />}
      tabs={[
        ['overview', 'Overview', () => <Overview one={one} />],
        ['invoke', 'Invoke', () => <Invoke one={one} />],
        ['log', 'Log', () => <FunctionLogTab key={one.id} id={one.id} />],
      ]}
    />
  )
}

function Actions({ one: { id, name, currentVersion, idleSeconds, memoryMb } }: { one: Known }): ReactNode {
  const [opened, setOpened] = useState<'deploy' | 'change'>()
  const navigate = useNavigate()
  const close = (): void => setOpened(undefined)
  return (
    <span className="buttons">
      <Act
        mutation={DeleteFunctionDocument}
        variables={{ input: { id } }}
        ask={{
          question: `Delete ${plain(name)}?`,
          text: 'Its versions and its log are deleted with it, and domains that lead to it lead nowhere. This cannot be undone.',
          submit: 'Delete the function',
        }}
        onDone={() => void navigate({ to: '..' })}
      >
        Delete
      </Act>
      <Open isPrimary={false} onClick={() => setOpened('change')}>
        Change
      </Open>
      <Open onClick={() => setOpened('deploy')}>Deploy</Open>
      {opened === 'deploy' && <Deploy id={id} isFirst={!currentVersion} onClose={close} />}
      {opened === 'change' && (
        <FormDialog
          title="Change the function"
          mutation={UpdateFunctionDocument}
          input={({ text, number }) => ({
            id,
            name: text('name'),
            memoryMb: number('memory'),
            idleSeconds: number('idle'),
            variables: readVariables(text('variables')),
          })}
          submit="Change"
          onDone={close}
          onClose={close}
        >
          <Field name="name" label="Name" defaultValue={name} required />
          <Field
            name="memory"
            label="Memory, MB"
            type="number"
            defaultValue={memoryMb}
            hint="Another one starts its program again, in another machine."
          />
          <VariablesField hint="To set, one a line; the others stay as they are." />
          <Field name="idle" label="Sleep after, seconds without a request" type="number" defaultValue={idleSeconds} />
        </FormDialog>
      )}
    </span>
  )
}

function Overview({ one }: { one: Known }): ReactNode {
  return (
    <>
      {one.statusReason && <p className="note">{plain(one.statusReason)}</p>}
      <Facts
        facts={[
          [
            'Address',
            <a key="address" href={one.url} rel="noreferrer noopener" target="_blank">
              {one.url}
            </a>,
          ],
          ['Size', `${one.vcpuCount} vCPU, ${sizeOf(one.memoryMb)}`],
          ['Sleeps', `after ${one.idleSeconds} s without requests`],
          ['Failed starts', one.failures],
        ]}
      />
      <h2>Versions</h2>
      <Table label="Versions" heads={['Version', 'Command', 'Deployed']}>
        {one.versions.nodes.map(({ id, number, startCommand, createdAt }) => (
          <tr key={id}>
            <td>
              {number}{' '}
              {id === one.currentVersion?.id ? (
                <small>current</small>
              ) : (
                <Act mutation={RollBackFunctionDocument} variables={{ input: { id: one.id, to: id } }}>
                  Go back to it
                </Act>
              )}
            </td>
            <td>{startCommand && <code>{plain(startCommand)}</code>}</td>
            <td>
              <Age at={createdAt} />
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

function FunctionLogTab({ id }: { id: string }): ReactNode {
  const { kept, error } = useStream(FunctionLogDocument, id, functionLog)
  return (
    <>
      {error && <Problem error={error} />}
      <Log lines={kept} isDone={false} name={id} />
    </>
  )
}

const functionLog: Keeping<FunctionLog, Entry, LogLines> = {
  begin: () => new LogLines(),
  read: ({ functionLogEvents: entry }) => ('cursor' in entry ? { value: entry, cursor: entry.cursor } : undefined),
  add(lines, entries) {
    for (const { at, output } of entries) lines.add(output, Date.parse(at))
  },
}
