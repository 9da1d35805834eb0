/** What a web process may answer to an attack. */

/** What came back. */
export type AttackAnswer = { status: number; text: string }

/** Failures that are no bug: the VM's node refuses, has no room, or a tool server cannot be reached. */
const honest = /vm_unreachable|VM_UNREACHABLE|capacity_unavailable|CAPACITY_UNAVAILABLE|The VM’s node/

/** What is wrong with an answer: a failure of ours, or an error that is none of the envelopes. */
function faultOf({ status, text }: AttackAnswer): string | null {
  if (status >= 500 && !honest.test(text)) return `${status} ${text.slice(0, 200)}`
  if (status < 400) return /"INTERNAL_ERROR"/.test(text) && !honest.test(text) ? text.slice(0, 300) : null
  if (status === 431 || status === 414) return null
  const body = JSON.parse(text) as { error?: unknown; errors?: unknown }
  return body.error === undefined && body.errors === undefined ? `no envelope: ${text.slice(0, 200)}` : null
}

/** What is wrong with the answer to a request that is so many operations together; null when nothing is. */
export function faultOfAll(answer: AttackAnswer, operations: number): string | null {
  if (operations === 1) return faultOf(answer)
  const answers: unknown = JSON.parse(answer.text)
  if (!Array.isArray(answers) || answers.length !== operations)
    return `not ${operations} answers: ${answer.text.slice(0, 200)}`
  return answers.map((one) => faultOf({ status: answer.status, text: JSON.stringify(one) })).find(Boolean) ?? null
}
