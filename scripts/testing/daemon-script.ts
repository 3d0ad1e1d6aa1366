import { join } from 'node:path'

/** The script in the folder of a built program. */
export function scriptIn(program: string): string {
  return join(program, 'bundled/daemon.cjs')
}

/**
 * The text of a module that runs the daemon from one script, with the functions that an earlier daemon has compiled: Node's own cache holds
 * only what is compiled before a module runs. Loading 200 modules and compiling their functions is a quarter of the processor time of
 * a daemon's start, and the tests start a thousand. The first daemon that ends well leaves what it has compiled.
 */
export function loaderOf(program: string): string {
  return `
const { existsSync, readFileSync, renameSync, writeFileSync } = process.getBuiltinModule('node:fs')
const { createRequire } = process.getBuiltinModule('node:module')
const { setFlagsFromString } = process.getBuiltinModule('node:v8')
const { constants, Script } = process.getBuiltinModule('node:vm')

const file = ${JSON.stringify(scriptIn(program))}
const kept = file + '.' + process.version + '-' + process.arch

export async function runDaemon(options) {
  const cachedData = existsSync(kept) ? readFileSync(kept) : undefined
  const script = new Script(readFileSync(file, 'utf8'), {
    filename: file,
    cachedData,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const module = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(file), module)
  const code = await module.exports.runDaemon(options)
  if (code === 0 && !existsSync(kept)) keepCompiled(script)
  return code
}

/** V8 takes compiled functions only under the flags under which they were kept, and a daemon sets this one when it starts. */
function keepCompiled(script) {
  setFlagsFromString('--semi-space-growth-factor=2')
  const fresh = kept + '.' + process.pid
  try {
    writeFileSync(fresh, script.createCachedData())
    renameSync(fresh, kept)
  } catch {
    // another user's program: one of their daemons keeps it
  }
}
`
}
