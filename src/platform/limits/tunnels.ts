/** Limits of tunnels, by which callers reach ports of VMs. In the platform, because the node, the gateway and the graph read them too. */
export const tunnelLimits = {
  ticketSeconds: 30, // until a ticket is no longer taken
  openSeconds: 10, // for the first message on a socket
  recheckSeconds: 5, // how often it is looked whether a tunnel may still be open
  perOrganization: 256, // open ones of an organization, in each web process
  connectionsPerVm: 128, // open ones to a VM, beside the connections of the ingress
  connectionsPerNode: 2048, // those to all VMs of a node
  messageBytes: 64 * 1024, // of one message, in either direction
  unacknowledgedBytes: 512 * 1024, // sent and not acknowledged, in each direction: then the sender waits
  publicKeyLength: 4096, // characters of a public key that openVmSsh takes
  authorizedKeysMax: 1000, // lines of `authorized_keys` to which openVmSsh still adds one
  sshOpenSeconds: 30, // how long a guest may take to start its SSH server
} as const
