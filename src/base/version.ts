// An ESM import of a built-in reads all its exports, which the hot commands would pay for at every start.
const { readFileSync } = process.getBuiltinModule('node:fs')

/** The version of this program. package.json stands two folders up both from src/base and from dist/base. */
export function programVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
