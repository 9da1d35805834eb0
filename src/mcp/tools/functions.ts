/** Tools for functions. */
import { z } from 'zod'
import { tool, type Work } from '../tool.ts'

const functionFields = 'id name status statusReason url currentVersion { number port startCommand }'

/** Where the program is: what was given, stored if it is a text. */
async function placeOf(
  { program, build_id: buildId }: { program?: string | undefined; build_id?: string | undefined },
  { store }: Work,
): Promise<{ binaryUrl?: string; buildId?: string }> {
  if (program !== undefined) return { binaryUrl: await store(Buffer.from(program)) }
  return buildId === undefined ? {} : { buildId }
}

/** Them. */
export const functionTools = [
  tool({
    name: 'deploy_function',
    title: 'Deploy a function',
    description:
      'Deploys a program that answers HTTP at the port in the variable PORT: to a new function, or as the next version of one. Its url answers from then on.',
    feature: 'functions',
    effect: 'changes',
    keepsToProject: false,
    input: z.object({
      function_id: z.string().optional().describe('The one to deploy to; without it a new one is made.'),
      name: z.string().optional().describe('The name of a new one.'),
      program: z
        .string()
        .optional()
        .describe('Its text, whose first line says what runs it, such as #!/usr/bin/env node.'),
      build_id: z.string().optional().describe('Or the build whose output it is.'),
      start_command: z.string().optional(),
      port: z.int().min(1).max(65_535).optional().describe('8080 by default.'),
    }),
    async run(args, work) {
      const { function_id: id, name, start_command: startCommand, port } = args
      const given = { ...(await placeOf(args, work)), startCommand, port }
      const answer = id
        ? await work.ask(
            `mutation ($input: DeployFunctionInput!) { done: deployFunction(input: $input) { function { ${functionFields} } } }`,
            { input: { id, ...given } },
          )
        : await work.ask(
            `mutation ($input: CreateFunctionInput!) { done: createFunction(input: $input) { function { ${functionFields} } } }`,
            { input: { name, ...given } },
          )
      return (answer['done'] as { function: unknown }).function
    },
  }),
]
