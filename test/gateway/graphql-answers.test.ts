/** Results as text: large ones in steps, those that are too large not at all. */
import { GraphQLError, type ExecutionResult } from 'graphql'
import { describe, expect, test } from 'vitest'
import { eventText, plainAnswer } from '#src/gateway/graphql-answers.ts'
import type { GraphqlCall } from '#src/gateway/graphql-operations.ts'
import { notFound } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'

const call = { requestId: 'req_1', answer: {} } as GraphqlCall // all that writing an answer looks at
const large = 'x"\u2028😀'.repeat(100_000)
const failed = (): GraphQLError => new GraphQLError('wrapped', { path: ['a', 1], originalError: notFound('thing') })

describe('a large answer', () => {
  test.each<[string, ExecutionResult]>([
    ['without errors', { data: { a: [large, { b: large }] } }],
    ['with errors', { errors: [failed()], data: { a: [large, null] } }],
  ])('%s is written in steps, as a small one is written', async (_, result) => {
    const { status, text } = await plainAnswer(result, call, true)
    expect([status, text instanceof Buffer]).toEqual([200, true])
    const shown = { message: notFound('thing').message, path: ['a', 1], extensions: { code: 'NOT_FOUND' } }
    expect(JSON.parse(String(text))).toMatchObject({ ...result, ...(result.errors ? { errors: [shown] } : {}) })
  })

  test('that would be too large is an error, whatever else was wrong', async () => {
    const part = 'x'.repeat(1024 * 1024)
    const data = { a: Array.from({ length: limits.graphqlAnswerLength / part.length + 1 }, () => part) }
    for (const result of [{ data }, { data, errors: [failed()] }]) {
      for (const text of [(await plainAnswer(result, call, true)).text, await eventText(result, 'req_1')])
        expect(JSON.parse(String(text))).toMatchObject({
          data: null,
          errors: [
            { message: expect.stringMatching(/more than 96 MiB/) as string, extensions: { code: 'INVALID_REQUEST' } },
          ],
        })
    }
  })
})
