// Preloaded with --import: on exit it writes down which modules a command loaded, our own files and Node's.
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const loaded: string[] = []
registerHooks({
  load(url, context, next) {
    loaded.push(url)
    return next(url, context)
  },
})
process.on('exit', () => {
  const builtins = (process as unknown as { moduleLoadList: string[] }).moduleLoadList
  appendFileSync(process.env['PCC_LISTED_MODULES'] ?? '', JSON.stringify({ loaded, builtins }))
})
