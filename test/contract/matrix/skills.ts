/** Who may do what with skills: rows as in agents.ts. People only; `{skill}` and `{vid}` are the owner's own. */
import type { GraphqlRow, Outcomes, RestRow } from '../matrix.ts'

const tooLittle = '403 not_permitted_for_role'
const absent = '404 not_found'
const noKeys = '401 unauthorized'
const invalid = '400 invalid_request'
const reads = (yes: string): Outcomes => [yes, absent, absent, absent, noKeys, noKeys]
const writes = (yes: string): Outcomes => [yes, absent, tooLittle, absent, noKeys, noKeys]
const lists = (yes: string): Outcomes => [yes, yes, yes, yes, noKeys, noKeys]
const makes = (yes: string): Outcomes => [yes, yes, tooLittle, yes, noKeys, noKeys]

/** Every REST operation of skills. */
export const skillsRows: Readonly<Record<string, RestRow>> = {
  'GET /agents/v1/skills': { outcomes: lists('200') },
  'POST /agents/v1/skills': { outcomes: makes(invalid), body: {} }, // it takes a form
  'GET /agents/v1/skills/{id}': { of: 'skill', outcomes: reads('200') },
  'DELETE /agents/v1/skills/{id}': { of: 'skill', outcomes: writes('200') },
  'GET /agents/v1/skills/{id}/versions': { of: 'skill', outcomes: reads('200') },
  'POST /agents/v1/skills/{id}/versions': { of: 'skill', outcomes: writes(invalid), body: {} }, // it takes a form
  'GET /agents/v1/skills/{id}/versions/{vid}': { of: 'skill', outcomes: reads('200') },
  'GET /agents/v1/skills/{id}/versions/{vid}/content': { of: 'skill', outcomes: reads('200') },
  'DELETE /agents/v1/skills/{id}/versions/{vid}': { of: 'skill', outcomes: writes('200') },
}

const skill = 'id: "{skill}"'
const ofSkill = 'skillId: "{skill}"'
const version = `${ofSkill}, id: "{vid}"`
const upload = 'binaryUrl: "https://example.com/x"'

/** Every root field of GraphQL that skills bring. */
export const skillsGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  'query skill': { outcomes: reads('200'), args: skill },
  'query skills': { outcomes: lists('200'), args: 'first: 5' },
  'query skillVersion': { outcomes: reads('200'), args: version },
  'query skillVersions': { outcomes: reads('200'), args: `${ofSkill}, first: 5` },
  'mutation createSkill': { outcomes: makes(invalid), args: upload },
  'mutation createSkillVersion': { outcomes: writes(invalid), args: `${ofSkill}, ${upload}` },
  'mutation deleteSkill': { outcomes: writes('200'), args: skill },
  'mutation deleteSkillVersion': { outcomes: writes('200'), args: version },
}
