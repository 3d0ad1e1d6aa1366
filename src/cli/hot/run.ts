import { dataDirectoryHint } from '../../base/data-directory-hint.ts'
import { placesFor } from '../../base/places.ts'
import { terminalOf } from '../render/paint.ts'
import { compareVersions } from './compare-versions.ts'
import type { HotCall } from './flags.ts'
import { rawRequest } from './raw-request.ts'
import { showList, showStatus } from './show.ts'

/** Answers a hot command from a running daemon with an exit code. Nobody answers: nothing, and the long way must start one. */
export async function runHot(call: HotCall): Promise<number | undefined> {
  if (call.command === 'start') return (await import('./start.ts')).runStart(call)
  const { command, operand, flags } = call
  const { env } = process
  const [configFile, dataDir] = [text(flags['--config']), text(flags['--data-dir'])]
  const places = placesFor({ env, configFile, dataDir })
  if (!dataDir && !env['PCC_DATA_DIRECTORY'] && dataDirectoryHint(places.configFile) === 'look') return undefined
  const lines: string[] = []
  const shown = {
    terminal: terminalOf(process.stdout, env),
    out: (line: string) => lines.push(line),
    get: async (path: string) => {
      const reply = await rawRequest({ socket: places.socket, tokenFile: places.tokenFile, path })
      if (!reply) throw new NobodyAnswers()
      const body: unknown = JSON.parse(reply.body)
      if (reply.status >= 400) throw (await import('../report.ts')).remoteError(body)
      await compareVersions(reply.headers['x-pcc-version'], flags['--quiet'] === true)
      return body
    },
  }
  const json = flags['--json'] === true
  try {
    if (command === 'list') {
      await showList({ status: text(flags['--status']), project: text(flags['--project']), json }, shown)
    } else {
      const [showHistory, showDecisions] = [flags['--show-history'] === true, flags['--show-decisions'] === true]
      await showStatus({ ref: operand, showHistory, showDecisions, json }, shown)
    }
  } catch (error) {
    if (error instanceof NobodyAnswers) return undefined
    throw error
  }
  process.stdout.write(`${lines.join('\n')}\n`)
  return 0
}

class NobodyAnswers extends Error {}

function text(value: string | true | undefined): string | undefined {
  return value === true ? undefined : value
}
