/** Words by which other services and libraries call what a field here is called: for sentences that say which name is meant. */

/** Each line is one idea; the words are in small letters, without anything between them. */
const ideas = `
name displayname title label
description summary about desc
workingdir workingdirectory workdir cwd directory
command cmd script code shellcommand source sourcecode
startcommand entrypoint cmd run
args arguments argv
env environment environmentvariables envvars envs variables vars
prompt kickoff input instructions system systemprompt systemmessage text message content
timeout timeoutseconds timeoutms timelimit deadline maxduration
ttl ttlseconds lifetime expiresin expiresinseconds expiry maxage
cron expression crontab schedule cronexpression
timezone tz zone
memorymb memory ram mem memorymib memorygb
vcpu vcpucount cpu cpus cores vcpus
diskmb disk disksize diskgb storage
template templateid image snapshot
repo repository repourl giturl gitrepourl
gitref gitbranch branch ref
commitsha commit sha
host hostname domain
limit first pagesize perpage take count
after cursor startingafter
before endingbefore
viewer me whoami currentuser self
organizationid org orgid organisationid team teamid workspace workspaceid
metadata labels tags attributes
enabled active isenabled
port vmport targetport containerport internalport
mcpservers mcp servers
maxtokens maxoutputtokens maxcompletiontokens tokenlimit
url uri address endpoint href
filter where
orderby sort sortby
recipientids recipients to
`
  .trim()
  .split('\n')
  .map((line) => new Set(line.split(' ')))

/** The other words for what a name, in small letters without anything between its words, is often used for. */
export function synonymsOf(name: string): string[] {
  const alike = ideas.filter((words) => words.has(name)).flatMap((words) => [...words])
  return [...new Set(alike)].filter((word) => word !== name)
}

/** Whether two names, in small letters without anything between their words, are often used for the same thing. */
export function areSynonyms(one: string, other: string): boolean {
  return ideas.some((words) => words.has(one) && words.has(other))
}
