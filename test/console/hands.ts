/** What one does in the console, by the names that one reads or hears: the same in each test. */
import type { Locator, Page, Response } from 'playwright-core'

type Opened = { page: Page; origin: string }

/** The hands on the console that is open then; each thing may be done in another page of it. */
export function handsOn(opened: () => Opened) {
  const usual = (): Page => opened().page
  const button = (name: string, page = usual()): Locator => page.getByRole('button', { name, exact: true })
  const dialog = (page = usual()): Locator => page.getByRole('dialog')
  return {
    /** Goes to a place of the list at the side. */
    go: (place: string, page = usual()): Promise<void> =>
      page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: place, exact: true }).click(),
    /** Opens an address below the organization anew, so that a test does not depend on where the one before ended. */
    open: (path: string, page = usual()): Promise<Response | null> => page.goto(`${opened().origin}/o/acme/${path}`),
    heading: (name: string | RegExp, page = usual()): Locator =>
      page.getByRole('heading', { name, level: 1, exact: true }),
    link: (name: string, page = usual()): Locator => page.getByRole('link', { name, exact: true }),
    button,
    press: (name: string, page = usual()): Promise<void> => button(name, page).first().click(),
    field: (label: string, page = usual()): Locator => page.getByLabel(label, { exact: true }),
    dialog,
    /** Presses a button of the form or question that is open. */
    submit: (name: string, page = usual()): Promise<void> =>
      dialog(page).getByRole('button', { name, exact: true }).click(),
  }
}
