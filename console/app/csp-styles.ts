/** Gives each style element that a library makes the nonce of the page, without which its policy refuses it. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
// oxlint-disable-next-line typescript/no-deprecated -- some of its overloads are
const create = Document.prototype.createElement

// oxlint-disable-next-line typescript/no-deprecated -- as above
Document.prototype.createElement = function (this: Document, name: string, options?: ElementCreationOptions) {
  const element = create.call(this, name, options)
  if (element instanceof HTMLStyleElement) element.nonce = nonce
  return element
} as typeof create

/** The nonce of this page, for libraries that take it. */
export const styleNonce: string = nonce
