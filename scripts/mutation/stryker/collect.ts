import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** A collected test that has not run yet. */
export interface Collected {
  title: string
  file: string
  body: (t: { after(undo: () => unknown): void }) => unknown
}

/** Imports test files, evaluating the whole project again each time. Counting coverage takes most of the time. */
export type Collect = (files: readonly string[], counting: boolean) => Promise<Collected[]>

const HANDED_OVER = Symbol.for('pcc.mutation.collect')
const STAND_IN_URL = 'pcc-mutation:test'
/** The header that Stryker adds to each file to count coverage. */
const COUNTER = /function stryCov_\w+\(\) \{/
/** Looked up with each call, so that the current collector gets the test. */
const STAND_IN = `export const test = (...handed) => globalThis[Symbol.for('${HANDED_OVER.description}')](...handed)`

/**
 * Replaces `node:test` with a version that only collects the title and body of each test. node:test runs a file once per
 * process, and a new process for every mutant costs a hundred times as much as running the bodies again. A mutant in a table
 * shows only when the table is built, so for it the project's modules are imported again under other names, with the types
 * stripped once.
 */
export function openCollector(root: string): Collect {
  const own = pathToFileURL(`${root}/`).href
  const sources = new Map<string, string>()
  let generation = 0
  let counts = true
  registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier === 'node:test' && context.parentURL?.startsWith(own))
        return { url: STAND_IN_URL, shortCircuit: true }
      const found = next(specifier, context)
      const isOurs = found.url.startsWith(own) && found.url.endsWith('.ts')
      return isOurs ? { ...found, url: `${found.url}?${generation}` } : found
    },
    load: (url, context, next) => {
      if (url === STAND_IN_URL) return { format: 'module', source: STAND_IN, shortCircuit: true }
      const [file = url, query] = url.split('?')
      if (query === undefined || !file.startsWith(own)) return next(url, context)
      const source = sources.get(file) ?? stripTypeScriptTypes(readFileSync(fileURLToPath(file), 'utf8'))
      sources.set(file, source)
      return { format: 'module', source: counts ? source : source.replace(COUNTER, '$& return'), shortCircuit: true }
    },
  })
  return async (files, counting) => {
    generation += 1
    counts = counting
    const collected: Collected[] = []
    for (const file of files) {
      const collect = (title: string, body: Collected['body']) => collected.push({ title, body, file })
      Object.assign(globalThis, { [HANDED_OVER]: collect })
      await import(`${pathToFileURL(file).href}?${generation}`)
    }
    return collected
  }
}
