/** Inputs of the graph become what is stored, and errors name places as they are stored. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { sentenceOf } from '#src/platform/shapes.ts'
import { input, oneOf } from '#src/platform/shapes/inputs.ts'

const network = oneOf(
  { limited: input({ allowed_hosts: z.array(z.string()), allow_mcp: z.boolean().optional() }), open_to_all: true },
  { open_to_all: 'unrestricted' },
)
const machine = input({ memory_mb: z.number(), network: network.optional() }, { memory_mb: 'memory' })

/** What a refusal says of an input that the caller calls `machine`. */
function refusal(given: Record<string, unknown>): string {
  const { error } = machine.safeParse(given)
  return error ? sentenceOf(error, 'machine') : 'it was taken'
}

test('keys are stored in the wire’s words, and the kind as the type', () => {
  expect(
    machine.parse({ memory: 512, network: { limited: { allowedHosts: ['a.test'], allowMcp: undefined } } }),
  ).toEqual({
    memory_mb: 512,
    network: { type: 'limited', allowed_hosts: ['a.test'] },
  })
})

test('a kind without fields is stored by its word, whatever the graph calls it', () => {
  expect(network.parse({ unrestricted: true, limited: null })).toEqual({ type: 'open_to_all' })
  expect(() => network.parse({ unrestricted: false })).toThrow('unrestricted can only be true. Omit it instead.')
})

test.each([
  [{}, /^machine\.memory_mb is not valid/],
  [{ memory: 1, network: {} }, /^machine\.network is not valid: it must be of one kind/],
  [{ memory: 1, network: { limited: { allowedHosts: [7] } } }, /^machine\.network\.allowed_hosts\[0\] is not valid/],
  [
    { memory: 1, network: { limited: { allowedHosts: [], allowMpc: true } } },
    /machine\.network\.allow_mpc\b.*allow_mcp/,
  ],
  [{ memory: 1, speed: 1 }, /machine\.speed/],
])('%o is refused at its place as it is stored', (given, sentence) => {
  expect(refusal(given)).toMatch(sentence)
})
