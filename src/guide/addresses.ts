/** Where documents have their pages. */

const guide = '/guide'

/** The address of a document's page: `docs/reference/vms.md` is `/guide/reference/vms`, `README.md` `/guide/about/readme`. */
export function addressOf(path: string): string {
  const [folder, name] = path.startsWith('docs/') ? [guide, path.slice('docs/'.length)] : [`${guide}/about`, path]
  const page = name.replace(/\.md$/, '').toLowerCase()
  if (folder === guide && page === 'readme') return guide
  return `${folder}/${folder === guide ? page.replace(/\/readme$/, '') : page}`
}
