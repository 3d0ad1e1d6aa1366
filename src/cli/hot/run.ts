import { dataDirectoryHint, placesFor } from '../../base/places.ts'
import { programVersion } from '../../base/version.ts'
import { terminalOf } from '../render/paint.ts'
import type { HotCall } from './flags.ts'
import { ANSWER_MS, rawRequest } from './raw-request.ts'
import { showList, showStatus } from './show.ts'

/** Answers a hot command from a running daemon with an exit code. Nobody answers: nothing, and the long way must start one. */
export async function runHot({ command, operand, flags }: HotCall): Promise<number | undefined> {
  const { env } = process
  const [configFile, dataDir] = [text(flags['--config']), text(flags['--data-dir'])]
  const places = placesFor({ env, configFile, dataDir })
  if (dataDirectoryHint(places, env) === 'look') return undefined
  const lines: string[] = []
  const ask = async (path: string, take?: (piece: Buffer) => void) => {
    const reply = await rawRequest({ socket: places.socket, tokenFile: places.tokenFile, path, ...(take && { take }) })
    if (!reply) throw new NobodyAnswers()
    if (reply.status >= 400) throw (await import('../report.ts')).remoteError(JSON.parse(reply.bytes.toString()))
    await compareVersions(reply.headers['x-pcc-version'], flags['--quiet'] === true)
    return reply.bytes
  }
  const shown = {
    terminal: terminalOf(process.stdout, env),
    out: (line: string) => lines.push(line),
    body: (path: string) => ask(path),
    pass: async (path: string) => {
      const rest = await ask(path, piece => process.stdout.write(piece))
      process.stdout.write(`${rest}\n`)
    },
    get: async (path: string): Promise<unknown> => JSON.parse((await shown.body(path)).toString()),
  }
  const json = flags['--json'] === true
  try {
    if (command === 'list') {
      await showList({ status: text(flags['--status']), project: text(flags['--project']), json }, shown)
    } else if (command === 'task') {
      const { showTasks } = await import('../tasks/show-list.ts')
      await showTasks(taskListOptions(flags), shown)
    } else {
      const [showHistory, showDecisions] = [flags['--show-history'] === true, flags['--show-decisions'] === true]
      await showStatus({ ref: operand, showHistory, showDecisions, json }, shown)
    }
  } catch (error) {
    if (error instanceof NobodyAnswers) return undefined
    if ((error as NodeJS.ErrnoException).code === 'ETIMEDOUT')
      throw (await import('../connection/silent-daemon.ts')).silentDaemon(places, ANSWER_MS)
    throw error
  }
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`)
  return 0
}

class NobodyAnswers extends Error {}

/** After an update the old daemon still runs: it answers, but the person should know. */
export async function compareVersions(running: string | undefined, quiet: boolean): Promise<void> {
  if (running === undefined || quiet) return
  const own = programVersion()
  if (running !== own) (await import('../report.ts')).warnOfVersion(running, own)
}

function taskListOptions(flags: HotCall['flags']) {
  return {
    project: text(flags['--project']),
    all: flags['--all'] === true,
    feature: text(flags['--feature']),
    state: text(flags['--state']),
    ready: flags['--ready'] === true ? true : undefined,
    label: text(flags['--label']),
    text: text(flags['--text']),
    json: flags['--json'] === true,
  }
}

function text(value: string | true | undefined): string | undefined {
  return value === true ? undefined : value
}
