import { runHook } from './commands/hook.ts'

/** The entry point of `pcc hook`, which agents call for each of their events: nothing else is loaded. */
process.exitCode = await runHook(process.argv.slice(3))
