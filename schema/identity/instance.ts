/** This Berth in GraphQL: what a client needs before somebody has signed in. */
import { builder } from '#schema/builder.ts'
import { readInstance, type Instance } from '#src/resources/identity/instance.ts'

const instanceLimits = builder.objectRef<Instance['limits']>('InstanceLimits').implement({
  description: 'What one request may ask for or send, and how often.',
  fields: (t) => ({
    pageSizeMax: t.exposeInt('pageSizeMax', { description: 'The most for `first` and `last` of a list.' }),
    operationObjectsMax: t.exposeInt('operationObjectsMax', {
      description: 'How many objects one GraphQL operation may ask for.',
    }),
    requestsPerMinute: t.exposeFloat('requestsPerMinute', {
      description: 'All other requests a minute of one organization.',
    }),
    createsPerMinute: t.exposeFloat('createsPerMinute', {
      description: 'Mutations, and POSTs over REST, a minute of one organization.',
    }),
    imageBytesMax: t.exposeInt('imageBytesMax', { description: 'Bytes of an image in a message.' }),
    documentBytesMax: t.exposeInt('documentBytesMax', { description: 'Bytes of a PDF in a message.' }),
  }),
})

const instanceType = builder.objectRef<Instance>('Instance').implement({
  description: 'This Berth: its version, how people sign in, its limits.',
  fields: (t) => ({
    version: t.exposeString('version', { description: 'Its version, such as `0.1.0`.' }),
    hasLocalSignIn: t.exposeBoolean('hasLocalSignIn', {
      description: 'Whether the person who started it may sign in without a password, from the same machine.',
    }),
    canSendMail: t.exposeBoolean('canSendMail', { description: 'Whether it sends invitations by e-mail.' }),
    issuers: t.exposeStringList('issuers', {
      description: 'The URLs of the identity providers whose tokens it takes, beside its own.',
    }),
    signInProviders: t.exposeStringList('signInProviders', {
      description: 'The identity providers that people sign in with in a browser, each at `/identity/oidc/{name}`.',
    }),
    limits: t.expose('limits', { type: instanceLimits, description: 'Its limits.' }),
  }),
})

builder.queryFields((t) => ({
  instance: t.field({
    type: instanceType,
    description: 'This Berth; needs no credentials.',
    extensions: { open: true },
    resolve: (_, _arguments, call) => readInstance(call),
  }),
}))
