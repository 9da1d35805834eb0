/**
 * Limits of connectors, each with its unit in its name. In the platform, because the driver of sign-ins reads them
 * too.
 */
export const connectorLimits = {
  // The catalog, which operators write.
  fileBytes: 1024 * 1024,
  servicesMax: 200,
  scopesMax: 100, // of one service
  scopeLength: 200, // characters of one

  // People.
  connectionsMax: 200, // of one person in an organization
  statesPerPersonMax: 10, // sign-ins that one person has begun; the oldest is forgotten
  stateSeconds: 600, // how long a sign-in may take
  codeLength: 4_096, // characters of an authorization code
  issuerLength: 2_048, // characters
  returnUrlLength: 2_048, // characters
  disabledToolsMax: 1_000, // of one service
  toolNameLength: 255, // characters
  requestsPerMinute: 60, // that one person's requests to Berth make to services
  eventsKept: 1_000, // of one person

  // Signing in.
  signInSeconds: 10, // everything that is asked until the browser leaves, and again when it is back
  signInBytes: 1024 * 1024, // everything that is answered meanwhile
  signInParts: 10_000, // objects, lists, keys and texts of one answer; and as many numbers
  registrationDays: 3, // then Berth registers anew when somebody connects: a server that forgot it says so to nobody but the person
  earlySeconds: 60, // a token that ends within this time is refreshed before it is used
  disconnectSeconds: 3, // the request that withdraws a token; whoever disconnects waits for it
  callbacksPerMinute: 60, // browsers that come back, from one address
} as const
