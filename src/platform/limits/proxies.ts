/**
 * Limits of proxy entries and previews. In the platform, because REST and VMs, on which proxies stand, read them too.
 */
export const proxyLimits = {
  perVm: 32, // entries of one VM
  perOrganization: 1_000, // entries of an organization
  generatedNameLength: 54, // characters of a service's name where its host is made of it: with `-` and eight more it is a label of 63
  previewSeconds: 3_600, // how long a preview's address works without another wish
  previewSecondsMax: 7 * 24 * 3_600, // at most
  previewSecondsByProgram: 3_600, // at most, where a program acts for a person: it works on when what lets the program in ends
  wakesPerMinute: 60, // VMs that requests wake, of one organization
  wakeSeconds: 30, // how long requests wait for a VM that wakes
  wakeWaitersMax: 200, // requests that wait for one VM, in each process
} as const
