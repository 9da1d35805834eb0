/** `POST /v1/responses`: chats in the format of OpenAI's responses. */
import { WholeAnswer } from '#src/drivers/models/model.ts'
import { bodyText } from '#src/platform/json/text.ts'
import type { Completion } from '#src/resources/llm/chats/completions.ts'
import { readResponseBody, type Repeated } from '#src/resources/llm/responses/requests.ts'
import type { HandWritten } from '../routes.ts'
import { chatHandler } from './chat-answers.ts'
import { chatHeaders } from './chat-answer-schemas.ts'
import { responseBody, responseEvent, wholeResponse } from './response-schemas.ts'
import { responseFailure, ResponseText } from './response-texts.ts'

/** What clients of OpenAI's know beside it: paths of responses that are stored. */
export const responsesAbsent = {
  '/v1/responses':
    'Responses are not stored, so none can be read, cancelled or deleted: POST /llm/v1/responses has the whole answer. See docs/models.md.',
}

/** The route, streamed and not. */
export const responsesRoute: HandWritten = {
  reason: 'A stream of typed events in the wire format of OpenAI’s responses, which no GraphQL answer has.',
  name: 'createResponse',
  status: 200,
  errors: [400, 402, 403, 404, 409, 502, 503, 504],
  summary: 'A response of a model: answered as a whole, or streamed with stream: true. Nothing is stored',
  requests: { 'application/json': responseBody },
  responses: { 'application/json': wholeResponse, 'text/event-stream': responseEvent },
  headers: chatHeaders,
  additive: true,
  make: chatHandler({
    route: 'responses',
    headers: {},
    failure: responseFailure,
    read(config, body) {
      const { model, request, repeated } = readResponseBody(config, body)
      return {
        model,
        request,
        text: (completion) => new ResponseText(completion, repeated, true),
        async whole(completion) {
          return bodyText(await collectResponse(completion, repeated))
        },
      }
    },
  }),
}

/** The whole response. @throws BerthError when the upstream cuts it off. */
async function collectResponse(completion: Completion, repeated: Repeated): Promise<Record<string, unknown>> {
  const text = new ResponseText(completion, repeated, false)
  const { events } = completion
  if (events instanceof WholeAnswer) text.batch(events.events)
  else for await (const batch of events) text.batch(batch)
  if (!text.whole) throw new Error('an answer ended without its end')
  return text.whole
}
