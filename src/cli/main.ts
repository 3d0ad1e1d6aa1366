import { type HotCall, readHotCall, runHotCommand } from './hot-commands.ts'

/**
 * Everything starts here. A hot command (`list`, `status`, `start`) goes the short way: no commander, no zod, no HTTP library
 * (each of them doubles the start-up). All else, and whatever the short way cannot answer, goes through `program.ts`.
 */
const argv = process.argv.slice(2)

// `pcc list | head`: the reader has had enough, which is no error. Whoever must clean up first listens as well.
process.stdout.once('error', (error: NodeJS.ErrnoException) => {
  const alone = process.stdout.listenerCount('error') === 0
  process.stdout.on('error', () => {}) // the first one says it all
  if (alone) void leave(error)
})

try {
  process.exitCode = argv[0] === 'hook' ? await runForAgent(argv.slice(1)) : await runForPerson()
} catch (error) {
  const { reportError } = await import('./errors.ts')
  process.exitCode = reportError(error, { json: argv.includes('--json'), verbose: argv.includes('--verbose') })
}

async function runForPerson(): Promise<number> {
  const hot = readHotCall(argv)
  return (hot && (await runShort(hot))) ?? (await (await import('./program.ts')).runProgram(argv))
}

/** Called by agents for each of their events: nothing else is loaded. */
async function runForAgent(words: string[]): Promise<number> {
  return (await import('./commands/hook.ts')).runHook(words)
}

async function runShort(call: HotCall): Promise<number | undefined> {
  if (call.command === 'start') return (await import('./commands/start-session.ts')).runHotStart(call)
  return runHotCommand(call)
}

async function leave(error: NodeJS.ErrnoException): Promise<never> {
  if (error.code === 'EPIPE') process.exit()
  const [{ reportError }, { AppError }] = await Promise.all([import('./errors.ts'), import('../base/errors.ts')])
  process.exit(reportError(new AppError('output_failed', { problem: error.message }), { json: false, verbose: false }))
}
