/** A form with one file: the file is passed on as a stream, and nothing else of it is kept but a few small fields. */
import type { Readable } from 'node:stream'
import { BerthError } from '#src/platform/errors.ts'
import { agentFileLimits } from '#src/resources/agents/files/limits.ts'
import type { FileFacts } from '#src/resources/agents/files/receiving.ts'
import { invalidForm, readField, readForm, shortenedName } from './forms.ts'

const most = {
  bytes: agentFileLimits.bytes + agentFileLimits.formBytes,
  parts: agentFileLimits.formParts,
  partHeaderBytes: agentFileLimits.formHeaderBytes,
}
const sentences = {
  notAForm: 'Send the file as a form: Content-Type: multipart/form-data, with a part named file.',
  tooManyParts: 'The form has too many parts. Send one file.',
  tooLong: () =>
    new BerthError(
      'request_too_large',
      `A file may have at most ${agentFileLimits.bytes / 1024 / 1024} MiB. Send a smaller one.`,
    ),
}

/**
 * Reads the form.
 * @param store stores the file.
 * @returns what was said about the file.
 * @throws BerthError invalid_request, request_too_large, timeout; whatever `store` throws.
 */
export async function readFileForm(
  body: Readable,
  contentType: string,
  store: (file: Readable) => Promise<void>,
): Promise<FileFacts> {
  const facts: FileFacts = { filename: null, mediaType: null, expiresInSeconds: null }
  const seen = new Set<string>()
  await readForm(body, contentType, most, sentences, async ({ name, stream, filename, mediaType }) => {
    if (seen.has(name)) throw invalidForm(`The form has the field ${shortenedName(name)} twice. Send it once.`)
    seen.add(name)
    if (name === 'file') {
      Object.assign(facts, { filename: filename ?? null, mediaType })
      await store(stream)
    } else if (name === 'expires_in_seconds') {
      const given = await readField(stream, agentFileLimits.fieldBytes)
      if (given === undefined) throw invalidForm('expires_in_seconds must be a whole number.')
      facts.expiresInSeconds = /^\d{1,12}$/.test(given) ? Number(given) : Number.NaN
    } else
      throw invalidForm(
        name
          ? `The form has an unknown field: ${shortenedName(name)}. Send file, and expires_in_seconds if you want.`
          : 'The form has a part without a name. Name the file’s part file.',
      )
  })
  if (!seen.has('file')) throw invalidForm('The form has no file. Send it in a part named file.')
  return facts
}
