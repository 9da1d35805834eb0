/** The schemas of the three OpenAPI descriptions are JSON Schema as a strict validator takes it, not only as linters do. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBerth, type Berth } from '../../support/berth.ts'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
})
afterAll(() => berth.stop())

/** Words that OpenAPI adds to JSON Schema. */
const openapiWords = ['discriminator', 'example', 'externalDocs', 'xml']

test.each(['/api/v1/openapi.json', '/agents/openapi.json', '/llm/openapi.json'])(
  'every schema in %s can be compiled strictly',
  async (path) => {
    const { body } = await berth.call<Record<string, unknown>>('GET', path)
    const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true, validateFormats: false })
    for (const word of openapiWords) ajv.addKeyword(word)
    for (const word of ['openapi', 'info', 'paths', 'components', 'servers', 'tags', 'security', 'webhooks'])
      ajv.addKeyword(word)
    ajv.addSchema(body, 'description')
    const schemas = schemasIn(body)
    const faults = schemas.flatMap(([place, schema]) => {
      try {
        // By itself: what is only referred to is not held against the rules of schemas.
        ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"description#')) as object)
        return []
      } catch (error) {
        return [`${place}: ${String(error)}`]
      }
    })
    expect(schemas.length).toBeGreaterThan(50)
    expect(faults).toEqual([])
  },
)

/** The schemas with their places: those with a name, and those of bodies, answers and parameters. */
function schemasIn(part: unknown, at = ''): [place: string, schema: object][] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]) => {
    const place = `${at}/${key}`
    return key === 'schema' || at === '/components/schemas' ? [[place, value as object]] : schemasIn(value, place) // as OpenAPI says
  })
}
