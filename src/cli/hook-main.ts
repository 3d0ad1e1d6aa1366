import { runHook } from './commands/hook.ts'

/**
 * The entry point of `pcc hook`, which agents call for each of their events: nothing else is loaded. All is written by then, and the agent
 * waits for the end of this process, so nothing that still runs, such as a daemon that stalls, may hold it up.
 */
process.exit(await runHook(process.argv.slice(3)))
