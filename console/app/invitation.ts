/** An invitation's secret stands behind the `#` of its link, which no server sees: it is kept while somebody signs in elsewhere. */

const name = 'berth.invitation'

/** Keeps it for this tab, before the browser goes to an identity provider. */
export function keepInvitation(): void {
  if (location.pathname === '/join' && location.hash) sessionStorage.setItem(name, location.hash)
}

/** The link of this page, with the secret that was kept, which is forgotten. */
export function invitationHere(): string {
  const kept = sessionStorage.getItem(name)
  sessionStorage.removeItem(name)
  return location.hash || !kept ? location.href : `${location.href}${kept}`
}
