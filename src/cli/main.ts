import { readHotCall } from './hot/flags.ts'
import { runHot } from './hot/run.ts'

/**
 * Everything starts here. A hot command (`list`, `status`, `start`) goes the short way: no commander, no zod, no HTTP library
 * (each of them doubles the start-up). All else, and whatever the short way cannot answer, goes through `program.ts`.
 */
const argv = process.argv.slice(2)

// `pcc list | head`: the reader has had enough, which is no error. Whoever must clean up first listens as well.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  if (process.stdout.listenerCount('error') === 1) process.exit()
})

try {
  const hot = readHotCall(argv)
  process.exitCode = (hot && (await runHot(hot))) ?? (await (await import('./program.ts')).runProgram(argv))
} catch (error) {
  const { reportError } = await import('./report.ts')
  process.exitCode = reportError(error, { json: argv.includes('--json'), verbose: argv.includes('--verbose') })
}
