import { fileURLToPath } from 'node:url'

/** The checkout this script belongs to. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** A development tool of this checkout, whatever PATH says. */
export function tool(name: string): string {
  return fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url))
}
