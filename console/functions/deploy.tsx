/** What a function runs: a program that is written here, a file, or the output of a build. */
import type { ReactNode } from 'react'
import type { Client } from 'urql'
import { useKeptQuery } from '../app/kept.ts'
import { upload, uploaded } from '../files/upload.tsx'
import { DeployableBuildsDocument, DeployFunctionDocument } from '../generated/documents.ts'
import { Choice, Field, TextArea } from '../parts/field.tsx'
import { FormDialog } from '../parts/form.tsx'
import type { Given } from '../parts/given.ts'
import { plain } from '../parts/plain.ts'

type Deployment = {
  binaryUrl?: string | null
  buildId?: string | null
  startCommand?: string | null
  port?: number | null
}

/** What the form's fields hold. */
export function readDeployment({ text, number, file }: Given): Deployment {
  return {
    binaryUrl: file('file') || text('program') ? uploaded : undefined,
    buildId: text('build'),
    startCommand: text('command'),
    port: number('port'),
  }
}

/** Uploads the file or the program, if there is one. @throws an error when it cannot be stored. */
export async function uploadProgram<Input extends Deployment>(
  input: Input,
  { text, file }: Given,
  client: Client,
): Promise<Input> {
  const body = file('file') ?? text('program')
  if (!body) return input
  return { ...input, binaryUrl: await upload(client, body) }
}

/**
 * Environment variables, of lines such as `KEY=value`; undefined where nothing is written.
 * @param text may hold secrets: the form keeps no draft of it.
 */
export function readVariables(text: string | undefined): Record<string, string> | undefined {
  if (text === undefined) return undefined
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.includes('=') ? line.indexOf('=') : line.length
      return [line.slice(0, at).trim(), line.slice(at + 1)] as const
    }),
  )
}

/** The field of variables. */
export function VariablesField({ hint }: { hint: string }): ReactNode {
  return <TextArea name="variables" label="Variables" isSecret placeholder="KEY=value" spellCheck={false} hint={hint} />
}

/** Its fields. @param isFirst whether nothing is deployed yet. */
export function DeploymentFields({ isFirst }: { isFirst: boolean }): ReactNode {
  const [{ data }] = useKeptQuery({ query: DeployableBuildsDocument })
  const builds = data?.builds?.nodes ?? []
  const same = isFirst ? undefined : 'As now'
  return (
    <>
      <TextArea
        name="program"
        label="Program"
        className="sql"
        rows={8}
        spellCheck={false}
        placeholder={example}
        hint="Its first line says what runs it. It listens at the port in the variable PORT."
      />
      <Field name="file" label="Or a file" type="file" hint="A program, or a tar or zip archive that is unpacked." />
      <Choice
        name="build"
        label="Or what a build made"
        options={[['', 'None'], ...builds.map(({ id, repoUrl }) => [id, plain(repoUrl ?? id)] as const)]}
      />
      <div className="row">
        <Field name="command" label="Command" placeholder={same ?? 'What the files say'} />
        <Field name="port" label="Port" type="number" min={1} max={65_535} placeholder={same ?? '8080'} />
      </div>
    </>
  )
}

const example = `#!/usr/bin/env node
require('node:http')
  .createServer((request, response) => response.end('hello\\n'))
  .listen(process.env.PORT)`

/** The form of a new version. */
export function Deploy({ id, isFirst, onClose }: { id: string; isFirst: boolean; onClose: () => void }): ReactNode {
  return (
    <FormDialog
      title="Deploy a version"
      mutation={DeployFunctionDocument}
      input={(given) => ({ id, ...readDeployment(given) })}
      prepare={uploadProgram}
      submit="Deploy"
      onDone={onClose}
      onClose={onClose}
    >
      <DeploymentFields isFirst={isFirst} />
    </FormDialog>
  )
}
