/** The limits of files of the agents service. */
export const agentFileLimits = {
  filesMax: 10_000, // of an organization
  bytes: 500 * 1024 * 1024, // of one file
  formBytes: 64 * 1024, // of the form around it: headers, boundaries, other fields
  formParts: 8,
  formHeaderBytes: 8 * 1024, // of one part
  fieldBytes: 64, // of a field that is not a file
  idsMax: 100, // that one list may name
  listMax: 1000,
  listDefault: 20,
  expirySecondsMin: 3600,
  expirySecondsMax: 90 * 86_400,
  textBytes: 1024 * 1024, // of a text in a message
  conversationBytes: 32 * 1024 * 1024, // of files, that one request to a model may have, and of a PDF in a message
  fileIdLength: 64,
  leaseSeconds: 30, // on an upload; its process renews it
  abandonedSeconds: 3600, // an upload whose lease ended so long ago is removed
} as const
