/** The settings of the HTTP edge: proxies, domains and their certificates, functions, and code hosting. */
import { besidePort, optional, setting } from './entries.ts'
import { addresses, baseUrl, headerTextOf, names, path, port, servers, text, textLike } from './readers.ts'

/** A part of the table of settings. */
export const edgeSettings = {
  httpPort: setting(
    'BERTH_HTTP_PORT',
    port,
    (earlier) => besidePort(earlier.port, 4_080),
    'the port where the edge process serves proxies, domains and functions over HTTP',
    '`PORT` + 4080',
  ),
  httpsPort: setting(
    'BERTH_HTTPS_PORT',
    port,
    (earlier) => besidePort(earlier.port, 4_443),
    'the same over HTTPS',
    '`PORT` + 4443',
  ),
  trustedProxies: setting(
    'BERTH_TRUSTED_PROXIES',
    addresses,
    [],
    'addresses and networks of load balancers before the web and edge processes, such as `10.0.0.0/8`, whose `X-Forwarded-*` are believed',
  ),
  ingressIpv4: setting(
    'BERTH_INGRESS_IPV4',
    textLike(/^(?:\d{1,3}\.){3}\d{1,3}$/, 'an IPv4 address, such as 203.0.113.7'),
    '127.0.0.1',
    'the public address of the edge: what the A record of a custom domain, and of `*.<BERTH_DOMAIN>`, must say',
  ),
  dnsServers: setting(
    'BERTH_DNS_SERVERS',
    servers,
    [],
    'name servers that are asked where the servers of a domain’s zone are, such as `9.9.9.9` or `127.0.0.1:5353`',
    'those of the system',
  ),
  dnsPort: optional(
    'BERTH_DNS_PORT',
    port,
    'the UDP port where the edge process answers for `acme.<BERTH_DOMAIN>`, so that an ACME authority can prove wildcards; your DNS must delegate that name to it',
    'none: wildcards get no certificate of an ACME authority',
  ),
  acmeDirectory: optional(
    'BERTH_ACME_DIRECTORY',
    baseUrl('the https address of the directory of an ACME authority'),
    'the directory of the ACME authority that issues certificates for domains, such as `https://acme-v02.api.letsencrypt.org/directory`',
    "none: Berth's own authority, which browsers do not know",
  ),
  acmeCaFile: optional(
    'BERTH_ACME_CA_FILE',
    path('a file with the certificate, in PEM, by which the ACME authority is known'),
    'a certificate in PEM by which that authority is known, where the system does not know it',
  ),
  brand: setting(
    'BERTH_BRAND',
    textLike(/^[a-z][a-z0-9-]{0,31}$/, 'a word in lower case, such as berth'),
    'berth',
    'the word in the TXT records that prove a domain: `_<word>-challenge`, `<word>-verify=`',
  ),
  codeHostUrl: setting(
    'BERTH_CODEHOST_URL',
    baseUrl('the http(s) address of a code host with GitHub’s API'),
    'https://github.com',
    'the code host where people have the accounts that they connect: GitHub, or a server with the same API',
  ),
  codeHostApp: optional(
    'BERTH_CODEHOST_APP',
    textLike(/^[A-Za-z0-9-]{1,100}$/, 'the name of an app at the code host, as in its address'),
    'the app that is registered there for this Berth: its name as in its address, for `installation_url`',
  ),
  codeHostClientId: optional(
    'BERTH_CODEHOST_CLIENT_ID',
    headerTextOf('the client id of that app'),
    'its client id; goes with the next one',
    'none: no accounts can be connected',
  ),
  codeHostClientSecret: optional(
    'BERTH_CODEHOST_CLIENT_SECRET',
    headerTextOf('the client secret of that app'),
    'its client secret',
  ),
  githubWebhookSecret: optional(
    'GITHUB_WEBHOOK_SECRET',
    text('the secret of the webhook, at least 16 characters', 16),
    'with which the code host signs what it delivers to `POST /agents/v1/hooks/github`, which fires triggers',
    'none: nothing is accepted there',
  ),
  githubWebhookSecretPrevious: optional(
    'GITHUB_WEBHOOK_SECRET_PREVIOUS',
    text('the secret before it, at least 16 characters', 16),
    'the secret before it, which counts too while you replace it',
  ),
  githubWebhookOrganizations: setting(
    'GITHUB_WEBHOOK_ORGANIZATIONS',
    names,
    [],
    'names of organizations, with commas between them, whose people may make triggers for every repository that delivers here; all others need a connected account that may write to it',
  ),
}
