// An ESM import of a built-in module reads all its exports, which would slow down every start of the frequent commands.
const { readFileSync } = process.getBuiltinModule('node:fs')

/** The version of this program. package.json is two folders up from both src/base and dist/base. */
export function programVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
