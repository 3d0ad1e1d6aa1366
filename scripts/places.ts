import { fileURLToPath } from 'node:url'

/** The root of this checkout. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** A development tool of this checkout, whatever PATH says. */
export function tool(name: string): string {
  return fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url))
}
