import { contextFrom } from '../context.ts'
import { startOptionsOf } from '../start/options.ts'
import { startSession } from '../start/start-session.ts'
import type { HotCall } from './flags.ts'
import { NobodyAnswers, rawConnection } from './raw-connection.ts'

/** `pcc start` with a daemon that runs. Nothing comes back, and nothing has happened, where the long way must be taken. */
export async function runStart({ operand, flags }: HotCall): Promise<number | undefined> {
  const options = startOptionsOf(flags)
  if (!options) return undefined
  const context = await contextFrom({
    ...(typeof flags['--config'] === 'string' && { config: flags['--config'] }),
    ...(typeof flags['--data-dir'] === 'string' && { dataDir: flags['--data-dir'] }),
    verbose: flags['--verbose'] === true,
    quiet: flags['--quiet'] === true,
    json: flags['--json'] === true,
  })
  try {
    const connect = async () => rawConnection(context.places, context)
    return await startSession({ path: operand, options, context, connect })
  } catch (error) {
    if (error instanceof NobodyAnswers) return undefined
    throw error
  }
}
