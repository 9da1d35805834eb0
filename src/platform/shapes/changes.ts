/** What a request asks to be changed. */

/** Whether it names nothing to change. Then what is there is answered as it is: without an event, a job, or another `updatedAt`. */
export function changesNothing(given: object): boolean {
  return Object.values(given).every((value) => value === undefined)
}
