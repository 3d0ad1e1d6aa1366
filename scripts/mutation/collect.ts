import { registerHooks } from 'node:module'

/** One test as a file wrote it, not yet run. */
export interface Collected {
  title: string
  file: string
  body: (t: { after(undo: () => unknown): void }) => unknown
}

const HANDED_OVER = Symbol.for('pcc.mutation.collect')

/**
 * Imports test files with a `node:test` that runs nothing: its `test` hands the title and the body over. node:test runs
 * a file once in its process, and a mutant that needs a new process costs a hundred times what it costs to run the
 * bodies again with the next mutant switched on.
 */
export async function collectTests(files: readonly URL[]): Promise<Collected[]> {
  const collected: Collected[] = []
  let file = ''
  const collect = (title: string, body: Collected['body']) => {
    collected.push({ title, body, file })
  }
  Object.assign(globalThis, { [HANDED_OVER]: collect })
  const hooks = registerHooks({
    load: (url, context, next) =>
      url === 'node:test' ? { format: 'module', source, shortCircuit: true } : next(url, context),
  })
  for (const url of files) {
    file = url.pathname
    await import(url.href)
  }
  hooks.deregister()
  return collected
}

/** Loaded once and for all files: whoever collects at the time is looked up with each call. */
const source = `export const test = (...handed) => globalThis[Symbol.for('${HANDED_OVER.description}')](...handed)`
