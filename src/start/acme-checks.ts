/** The doctor's check of the ACME authority that issues certificates for domains. */
import { askDirectory } from '#src/drivers/acme.ts'
import type { Config } from '../platform/config.ts'
import type { Check } from './checks.ts'

const remedy =
  'Correct BERTH_ACME_DIRECTORY and BERTH_ACME_CA_FILE, or let this host reach the authority: domains get no certificates until then.'

/** Whether the authority answers, if one is set. Nothing is ordered, and no account is made. */
export async function checkAcme({
  acmeDirectory,
  acmeCaFile,
}: Pick<Config, 'acmeDirectory' | 'acmeCaFile'>): Promise<Check> {
  if (acmeDirectory === null)
    return {
      verdict: 'neither',
      what: 'certificates of domains: of Berth’s own authority, which browsers do not know',
      remedy: 'Set BERTH_ACME_DIRECTORY to have them issued by an authority such as Let’s Encrypt.',
    }
  const what = `certificates of domains: of ${acmeDirectory}`
  const problem = await askDirectory(acmeDirectory, acmeCaFile)
  return problem === null ? { verdict: 'works', what } : { verdict: 'fails', what: `${what}, which ${problem}`, remedy }
}
