import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = new URL('../', import.meta.url)

/** Path of a program that `test/agents/package.json` pins. */
export function program(name: string): string {
  return fileURLToPath(new URL(`node_modules/.bin/${name}`, FOLDER))
}

/** The pinned version of a package. */
export function pinned(name: string): string {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', FOLDER), 'utf8')) as {
    dependencies: Record<string, string>
  }
  return dependencies[name] ?? ''
}
