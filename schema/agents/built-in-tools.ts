/** The catalog of built-in tools in GraphQL. */
import { builder } from '../builder.ts'
import { always, jsonObject, oneOfWords } from '../words.ts'
import { permissionPolicy } from './agents/tools.ts'
import { builtInToolsets, listBuiltInTools, type BuiltInTool } from '#src/resources/agents/built-in-tools.ts'

const builtInTool = builder.objectRef<BuiltInTool>('BuiltInTool').implement({
  description: 'A built-in tool that any agent may have.',
  fields: (t) => ({
    type: t.string(always('tool')),
    name: t.exposeString('name', { description: 'Its name, as models see it.' }),
    toolset: t.exposeString('toolset', oneOfWords(builtInToolsets, 'The toolset that contains it.')),
    description: t.exposeString('description', { description: 'Its description, as models read it.' }),
    inputSchema: t.field({
      type: 'JSON',
      ...jsonObject,
      description: 'JSON Schema of its input.',
      resolve: (tool) => tool.inputSchema,
    }),
    isEnvironmentRequired: t.exposeBoolean('requiresEnvironment', {
      description: 'Whether it runs inside the session’s VM.',
    }),
    defaultPermissionPolicy: t.field({
      type: permissionPolicy,
      description: 'The policy when the agent does not set one.',
      resolve: (tool) => tool.defaultPermissionPolicy,
    }),
  }),
})

builder.queryFields((t) => ({
  builtInTools: t.field({
    type: [builtInTool],
    description: 'The built-in tools that agents may have.',
    resolve: (_, _arguments, call) => [...listBuiltInTools(call)],
  }),
}))
