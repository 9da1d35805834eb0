/** The catalog of built-in tools in GraphQL. */
import { builder } from '../builder.ts'
import { permissionPolicy } from './agents/tools.ts'
import { listBuiltInTools, type BuiltInTool } from '#src/resources/agents/built-in-tools.ts'

const builtInTool = builder.objectRef<BuiltInTool>('BuiltInTool').implement({
  description: 'A tool that every agent may be given.',
  fields: (t) => ({
    type: t.string({ description: 'Always `tool`.', resolve: () => 'tool' }),
    name: t.exposeString('name', { description: 'What models call it.' }),
    toolset: t.exposeString('toolset', { description: 'The toolset that brings it.' }),
    description: t.exposeString('description', { description: 'What models are told of it.' }),
    inputSchema: t.field({
      type: 'JSON',
      description: 'JSON Schema of its input.',
      resolve: (tool) => tool.inputSchema,
    }),
    requiresEnvironment: t.exposeBoolean('requiresEnvironment', {
      description: 'Whether it works inside the session’s VM.',
    }),
    defaultPermissionPolicy: t.field({
      type: permissionPolicy,
      description: 'What holds when the agent does not say.',
      resolve: (tool) => tool.defaultPermissionPolicy,
    }),
  }),
})

builder.queryFields((t) => ({
  builtInTools: t.field({
    type: [builtInTool],
    description: 'The tools that agents may be given.',
    resolve: (_, _arguments, call) => [...listBuiltInTools(call)],
  }),
}))
