/** The limits of what is put into the VMs of sessions. */
export const sessionResourceLimits = {
  perSession: 100,
  mountPathLength: 1024,
  tokenLength: 4096, // of a repository's token
  tokensPerVm: 200, // of the sessions that work in it
  cloneSeconds: 600,
  prepareSeconds: 30, // for the folder above a file
} as const
