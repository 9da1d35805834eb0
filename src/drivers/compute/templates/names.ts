/** The names of the templates that every host builds itself. */

/** The templates that every host builds itself. */
export type TemplateName = 'base' | LaterTemplate

/** Those that machines do not need from the start: built once the first are running, or when somebody asks for one. */
export type LaterTemplate = (typeof laterTemplates)[number]

/** All of those. */
export const laterTemplates = ['data', 'postgres'] as const

/** Whether a machine's template is one of those. */
export function isLater(template: TemplateName | { templateId: string }): template is LaterTemplate {
  return laterTemplates.some((name) => name === template)
}
