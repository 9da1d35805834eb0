/**
 * What somebody was writing: kept for this tab, so that it is there again after they had to sign in at another page, or reloaded.
 * It is theirs alone, no secret is kept, and it is forgotten when it is sent, given up, or they sign out.
 */

import { isSecret } from '../parts/given.ts'

const prefix = 'berth-draft '
/** Characters; what is longer is not kept. */
const lengthMax = 100_000

/** The fields of a form, by name. */
export type Values = Readonly<Record<string, string>>
type Named = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement
/** A draft of this page. */
export type Draft = { read: () => Values | undefined; keep: (values: Values) => void; forget: () => void }

/** The draft with this name on this page, of the person with this id. */
export function draftOf(user: string, name: string): Draft {
  const key = `${prefix}${location.pathname} ${name}`
  return {
    read() {
      const stored = sessionStorage.getItem(key)
      const draft = stored === null ? undefined : (JSON.parse(stored) as { user: string; values: Values }) // as it was kept
      return draft?.user === user ? draft.values : undefined
    },
    keep(values) {
      const text = JSON.stringify({ user, values })
      if (text.length > lengthMax) return sessionStorage.removeItem(key)
      try {
        sessionStorage.setItem(key, text)
      } catch {
        // the browser keeps no more for this tab: what is written stays on the page
      }
    },
    forget: () => sessionStorage.removeItem(key),
  }
}

/** Forgets all drafts of this tab. */
export function forgetDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key)
}

/** What somebody has changed in a form that may be kept: no secret, and no file. */
export function valuesOf(form: HTMLFormElement): Values {
  return Object.fromEntries(
    namedIn(form)
      .filter(isChanged)
      .map((field) => [keyOf(field), isBox(field) ? String(field.checked) : field.value] as const),
  )
}

/** Puts back what is there to take it. @returns what is not, such as a choice whose options have yet to come. */
export function putBack(form: HTMLFormElement, values: Values): Values {
  const waiting = new Map(Object.entries(values))
  for (const field of namedIn(form)) {
    const value = waiting.get(keyOf(field))
    if (value === undefined) continue
    put(field, value)
    if (isBox(field) || field.value === value) waiting.delete(keyOf(field))
  }
  return Object.fromEntries(waiting)
}

function namedIn(form: HTMLFormElement): Named[] {
  return [...form.elements].filter(
    (field): field is Named =>
      (field instanceof HTMLInputElement ||
        field instanceof HTMLSelectElement ||
        field instanceof HTMLTextAreaElement) &&
      field.name !== '' &&
      !['file', 'hidden'].includes(field.type) &&
      !isSecret(field),
  )
}

/** Others change meanwhile what one has not touched: that is not kept. */
function isChanged(field: Named): boolean {
  if (isBox(field)) return field.checked !== field.defaultChecked
  if (field instanceof HTMLSelectElement) return field.selectedOptions[0]?.defaultSelected !== true
  return field.value !== field.defaultValue
}

/** As somebody would who writes it, so that what depends on it follows. */
function put(field: Named, value: string): void {
  if (isBox(field)) {
    if (field.checked !== (value === 'true')) field.click()
    return
  }
  if (field.value !== value) write(field, value)
}

/** Writes into a field as somebody would. */
export function write(field: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement, value: string): void {
  const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value') ?? {}
  set?.call(field, value) // past React's own, which would take it for its doing
  field.dispatchEvent(new Event('input', { bubbles: true }))
  field.dispatchEvent(new Event('change', { bubbles: true }))
}

/** Several boxes may have one name. */
function keyOf(field: Named): string {
  return isBox(field) ? `${field.name}=${field.value}` : field.name
}

function isBox(field: Named): field is HTMLInputElement {
  return field.type === 'checkbox'
}
