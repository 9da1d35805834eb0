/** The organization's functions. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { CreateFunctionDocument, FunctionsDocument, type FunctionRow } from '../generated/documents.ts'
import { Age } from '../parts/age.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import { List, type Column } from '../parts/list.tsx'
import { plain } from '../parts/plain.ts'
import { State } from '../parts/state.tsx'
import { DeploymentFields, readDeployment, readVariables, uploadProgram, VariablesField } from './deploy.tsx'

const columns: readonly Column<FunctionRow>[] = [
  ['Name', ({ name }) => plain(name)],
  ['Status', ({ functionStatus }) => <State status={functionStatus} />],
  ['Version', ({ currentVersion }) => currentVersion?.number ?? 'none yet'],
  [
    'Address',
    ({ url }) => (
      <a href={url} rel="noreferrer noopener" target="_blank">
        {url}
      </a>
    ),
  ],
  ['Made', ({ createdAt }) => <Age at={createdAt} />],
]

/** The list. */
export function Functions(): ReactNode {
  const { org } = useParams({ from: '/o/$org' })
  const navigate = useNavigate()
  return (
    <List
      title="Functions"
      document={FunctionsDocument}
      variables={(text) => (text ? { filter: { text } } : {})}
      read={({ functions }) => functions}
      columns={columns}
      folder="functions"
      create={{
        title: 'New function',
        form: (close) => (
          <FormDialog
            title="New function"
            mutation={CreateFunctionDocument}
            input={(given) => ({
              name: given.text('name'),
              memoryMb: given.number('memory'),
              idleSeconds: given.number('idle'),
              variables: readVariables(given.text('variables')),
              ...readDeployment(given),
            })}
            prepare={uploadProgram}
            submit="Create"
            onDone={({ createFunction }) => {
              close()
              if (createFunction) void navigate({ to: `/o/${org}/functions/${createFunction.function.id}` })
            }}
            onClose={close}
          >
            <Field name="name" label="Name" placeholder="Chosen for you" autoFocus />
            <DeploymentFields isFirst />
            <VariablesField hint="Of its program, one a line. They are kept sealed, and hidden from viewers." />
            <div className="row">
              <Field name="memory" label="Memory, MB" type="number" min={256} placeholder="2048" />
              <Field name="idle" label="Sleep after, seconds without a request" type="number" min={10} />
            </div>
          </FormDialog>
        ),
      }}
      empty={
        <p>
          A function is a program at an address of its own, which starts when it is asked and sleeps when it is not:{' '}
          <a href="/docs/functions.md">more</a>.
        </p>
      }
    />
  )
}
