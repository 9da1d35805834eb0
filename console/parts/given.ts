/** What a form holds. */

/** What a form's fields hold; one that is absent or empty is `undefined`. */
export type Given = {
  text: (name: string) => string | undefined
  number: (name: string) => number | undefined
  has: (name: string) => boolean
  /** Which of several boxes are ticked; undefined while the form does not show them. */
  all: (name: string) => string[] | undefined
  /** The ids of what is picked; undefined while the form has no such field. */
  ids: (name: string) => string[] | undefined
  /** What stands on each line, without empty ones. */
  lines: (name: string) => string[]
  /** The value of a field of JSON; one that is none is `undefined`, and keeps the form from being sent. */
  json: (name: string) => unknown
  file: (name: string) => File | undefined
}

/** A fieldset of boxes has this name, by which a form knows that they are shown. */
export function boxesOf(name: string): string {
  return `${name} of`
}

/** The ids in a field that has several, with spaces between them. */
export function idsOf(value: string): string[] {
  return value.split(' ').filter((id) => id !== '')
}

/** Whether nobody is shown again what is written in a field: not as code, and not as a draft. */
export function isSecret(field: unknown): boolean {
  return (
    field instanceof HTMLElement && (field.dataset['secret'] !== undefined || field.getAttribute('type') === 'password')
  )
}

/** What stands in place of a secret where a form shows itself. */
const hidden = '…'

/**
 * What a form holds now.
 * @param isShown whether it is to be read by people, who see no secret.
 */
export function givenIn(form: HTMLFormElement, isShown = false): Given {
  const data = new FormData(form)
  const text = (name: string): string | undefined => {
    const value = data.get(name)
    if (typeof value !== 'string' || value.trim() === '') return undefined
    return isShown && isSecret(form.elements.namedItem(name)) ? hidden : value.trim()
  }
  return {
    text,
    number: (name) => (text(name) === undefined ? undefined : Number(text(name))),
    has: (name) => data.get(name) !== null,
    all: (name) =>
      form.elements.namedItem(boxesOf(name))
        ? data.getAll(name).filter((value) => typeof value === 'string')
        : undefined,
    ids: (name) => (form.elements.namedItem(name) ? idsOf(text(name) ?? '') : undefined),
    lines: (name) => (text(name)?.split('\n') ?? []).map((line) => line.trim()).filter((line) => line !== ''),
    json: (name) => readJson(text(name) ?? '').value,
    file(name) {
      const value = data.get(name)
      return value instanceof File && value.size > 0 ? value : undefined
    },
  }
}

/** A text as JSON, or why it is none. An empty text is neither. */
export function readJson(text: string): { value?: unknown; problem?: string } {
  if (text.trim() === '') return {}
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    return { problem: `This is no JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
}
