/** A form with a file: it is put where the API takes files from, and then made what it is to be. */
import type { ReactNode } from 'react'
import type { Client } from 'urql'
import { CreateUploadDocument } from '../generated/documents.ts'
import { Field } from '../parts/field.tsx'
import { FormDialog, type Mutation } from '../parts/form.tsx'
import type { Given } from '../parts/given.ts'

/** What a form's code shows in place of the name that a file gets once it is there. */
export const uploaded = 'the binaryUrl that createUpload answers, once the file was PUT to its uploadUrl'
/** Files of Berth's own store are below this path of the same host. */
const storePath = '/objects/'

/**
 * The dialog.
 * @param input what is sent beside the file's place; `file` is undefined until one is chosen.
 */
export function UploadDialog<Data, Input extends { binaryUrl?: string | null }>({
  title,
  label,
  accept,
  mutation,
  input,
  children,
  onDone,
  onClose,
}: {
  title: string
  label: string
  accept?: string
  mutation: Mutation<Data, Input>
  input: (binaryUrl: string, given: Given, file: File | undefined) => Input
  children?: ReactNode
  onDone: (data: Data) => void
  onClose: () => void
}): ReactNode {
  return (
    <FormDialog
      title={title}
      mutation={mutation}
      input={(given) => input(uploaded, given, given.file('file'))}
      prepare={async (read, { file }, client) => ({ ...read, binaryUrl: await upload(client, file('file') ?? '') })}
      submit="Upload"
      onDone={onDone}
      onClose={onClose}
    >
      <Field name="file" type="file" label={label} accept={accept} required />
      {children}
    </FormDialog>
  )
}

/**
 * Sends a file, by this page's own host: its policy lets it reach no other.
 * @returns its name in later requests.
 * @throws Error with a sentence.
 */
export async function upload(client: Client, body: File | string): Promise<string> {
  const { data, error } = await client.mutation(CreateUploadDocument, { input: {} }).toPromise()
  if (error) throw error
  const place = data?.createUpload?.upload
  if (!place) throw new Error('Berth gave no place for the file. Try again.')
  const { pathname, search } = new URL(place.uploadUrl, location.href)
  if (!pathname.startsWith(storePath))
    throw new Error(
      'This Berth keeps files at another host, where a browser cannot put them. Upload it by a command instead: see As code.',
    )
  const answer = await fetch(`${pathname}${search}`, { method: 'PUT', body, credentials: 'omit' })
  if (!answer.ok) throw new Error(`The file was not stored: Berth answered ${answer.status}. Try again.`)
  return place.binaryUrl
}
