// An ESM import of a built-in reads all its exports, which is slow, and this runs for every call of an agent.
const { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } =
  process.getBuiltinModule('node:fs')
const { basename, dirname, join } = process.getBuiltinModule('node:path')

export interface CompiledScript<Exports> {
  exports: Exports
  /** Keeps what was compiled so far for the next process, once: to be called when all that is usually needed has run. */
  keep(): void
}

/**
 * Loads a script of the published package with the functions that an earlier process compiled. Node's own cache holds what is compiled
 * before the script runs, so it would compile each function again in each process, which is a fifth of the time of a hook. Undefined if
 * there is no such script, as in a checkout.
 *
 * The first line of the script is the hash of the rest: V8 compares only the length of a script with what it compiled. It trusts
 * its data otherwise, and a damaged file would crash it, so the file holds the data twice.
 */
export function loadCompiled<Exports>(script: string, cache: string): CompiledScript<Exports> | undefined {
  const text = read(script)?.toString('utf8')
  if (text === undefined) return undefined
  const { Script } = process.getBuiltinModule('node:vm')
  const name = basename(script)
  const file = join(cache, `${name}-${process.version}-${process.arch}-${text.slice(2, 34)}`)
  const cachedData = readTwice(file)
  const source = `(function(module,$scriptUrl,$importHere){${text}\n})`
  const compiled = new Script(source, { filename: script, ...(cachedData && { cachedData }) })
  const module = { exports: {} as Exports }
  const { href } = process.getBuiltinModule('node:url').pathToFileURL(script)
  // In place of `import()`, which needs a feature of Node that is not stable.
  compiled.runInThisContext()(module, href, (path: string) => import(new URL(path, href).href))
  const isKept = cachedData !== undefined && !compiled.cachedDataRejected
  return {
    exports: module.exports,
    keep: () => {
      if (!isKept) writeTwice(file, compiled.createCachedData(), `${name}-`)
    },
  }
}

function read(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined // there is none
  }
}

function readTwice(file: string): Buffer | undefined {
  const bytes = read(file)
  const half = (bytes?.length ?? 0) / 2
  const data = bytes?.subarray(0, half)
  return data && half > 0 && bytes?.subarray(half).equals(data) ? data : undefined
}

/** The file of an older pcc or node goes. */
function writeTwice(file: string, data: Buffer, names: string): void {
  const fresh = `${file}.${process.pid}.tmp`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    for (const name of readdirSync(dirname(file)))
      if (name.startsWith(names)) rmSync(join(dirname(file), name), { force: true })
    const handle = openSync(fresh, 'wx', 0o600)
    try {
      writeFileSync(handle, Buffer.concat([data, data]))
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    renameSync(fresh, file)
  } catch {
    rmSync(fresh, { force: true }) // the next process compiles again
  }
}
