/**
 * The limits of files that pass as streams, into VMs and out of them. In the platform, because drivers of guests and
 * nodes, and REST read them too.
 */
export const fileLimits = {
  streamsPerVm: 8, // transfers at once
  streamsPerOrganization: 24, // on one node
  streamsPerNode: 64,
  streamsForMany: 16, // of those, kept for organizations that have less than the next
  streamsWhenBusy: 2, // of an organization, once only the kept ones are left
  stalledSeconds: 30, // a transfer in which nothing moves for so long is cut off
  firstByteSeconds: 600, // until the first byte of an archive that is continued: the guest makes what comes before again
  bytesPerSecondMin: 1024, // and one that is slower than this on average from then on
  describeSeconds: 120, // until the guest has said what is at a path; a folder's every entry is looked at
  transferSeconds: 24 * 3600, // that one download may take; an upload is bound by the time of a request
  finishSeconds: 900, // until a complete upload is on the guest's disk, or its archive is unpacked
  lingerSeconds: 5, // a client that goes on sending a refused upload is cut off then
  uploadKeptHours: 24, // what has arrived of an upload that broke off
  urlSecondsDefault: 900, // a signed URL is valid
  urlSecondsMax: 7 * 86_400,
} as const
