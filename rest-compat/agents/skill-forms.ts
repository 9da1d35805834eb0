/** A form with the files of a skill, as Anthropic's client sends it: parts named files[], or one of them that is a zip. */
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { skillTooLarge } from '#src/resources/agents/skills.ts'
import { skillLimits } from '#src/resources/agents/skills/limits.ts'
import type { SentSkill } from '#src/resources/agents/skills/receiving.ts'
import { invalidForm, readField, readForm, shortenedName } from './forms.ts'

const most = {
  bytes: skillLimits.bytes + skillLimits.formBytes,
  parts: skillLimits.filesMax + 1, // and display_name
  partHeaderBytes: skillLimits.formHeaderBytes,
  secondsMax: skillLimits.receivingSeconds,
}
const sentences = {
  notAForm: 'Send the skill as a form: Content-Type: multipart/form-data, with its files in parts named files[].',
  tooManyParts: `The form has too many parts. A skill has at most ${skillLimits.filesMax} files.`,
  tooLong: skillTooLarge,
}

/**
 * Reads the form.
 * @param isNew whether a skill is made, which may have a display_name.
 * @throws BerthError invalid_request, request_too_large, timeout.
 */
export async function readSkillForm(body: Readable, contentType: string, isNew: boolean): Promise<SentSkill> {
  const sent: SentSkill = { files: [], displayName: null }
  let arrivedBytes = 0
  let isNamed = false
  await readForm(body, contentType, most, sentences, async ({ name, stream, filename }) => {
    if (name === 'files[]' || name === 'files') {
      if (!filename)
        throw invalidForm('A file of the skill has no name. Name each with its path, such as my-skill/SKILL.md.')
      const file = { path: filename, bytes: Buffer.alloc(0) }
      sent.files.push(file)
      stream.on('data', (piece: Buffer) => {
        arrivedBytes += piece.length
        if (arrivedBytes > skillLimits.bytes) stream.destroy(skillTooLarge())
      })
      file.bytes = await buffer(stream)
    } else if (name === 'display_name' && isNew) {
      if (isNamed) throw invalidForm('The form has the field "display_name" twice. Send it once.')
      isNamed = true
      const given = await readField(stream, skillLimits.formFieldBytes)
      if (given === undefined)
        throw invalidForm(`display_name must be one line of 1 to ${skillLimits.displayNameLength} characters.`)
      sent.displayName = given
    } else
      throw invalidForm(
        `The form has an unknown field: ${shortenedName(name)}. Send files[]${isNew ? ', and display_name if you want' : ''}.`,
      )
  })
  return sent
}
