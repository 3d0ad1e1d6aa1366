import { readHotCall, runHotCommand } from './hot-commands.ts'

/**
 * The entry point. A hot command (see `HOT_FLAGS`) is read without commander, which doubles the start-up time. Everything
 * else, and whatever is not plainly right, goes through `program.ts`.
 */
const argv = process.argv.slice(2)

// `pcc list | head`: the reader closes the pipe early, which is not an error. A command that must clean up first adds its
// own listener, and this one then does not exit.
process.stdout.once('error', (error: NodeJS.ErrnoException) => {
  const isOnlyListener = process.stdout.listenerCount('error') === 0
  process.stdout.on('error', () => {}) // later errors add nothing to the first
  if (isOnlyListener) void exitAfterOutputError(error)
})

try {
  process.exitCode = await runCommand()
} catch (error) {
  const { reportError } = await import('./errors.ts')
  process.exitCode = reportError(error, { json: argv.includes('--json'), verbose: argv.includes('--verbose') })
}

async function runCommand(): Promise<number> {
  if (argv[0] === 'completion' && printCompletion(argv.slice(1))) return 0
  const hotCall = readHotCall(argv)
  return (hotCall && (await runHotCommand(hotCall))) ?? (await (await import('./program.ts')).runProgram(argv))
}

/** Every new shell asks for its completion script, so the build writes the scripts. Without a build, the command makes it. */
function printCompletion([shell = '', ...more]: string[]): boolean {
  if (more.length > 0 || !/^(bash|zsh|fish)$/.test(shell)) return false
  const { existsSync, readFileSync } = process.getBuiltinModule('node:fs')
  const file = new URL(`completion.${shell}`, import.meta.url)
  if (!existsSync(file)) return false
  process.stdout.write(readFileSync(file))
  return true
}

async function exitAfterOutputError(error: NodeJS.ErrnoException): Promise<never> {
  if (error.code === 'EPIPE') process.exit()
  const [{ reportError }, { AppError }] = await Promise.all([import('./errors.ts'), import('../base/errors.ts')])
  process.exit(reportError(new AppError('output_failed', { problem: error.message }), { json: false, verbose: false }))
}
