import type { Command } from 'commander'
import type { ApiStatus } from '../../domain/api.ts'
import { findClient, openClient } from '../connection/client.ts'
import { type CommandContext, commandContext, ExitCode } from '../context.ts'
import { refuseInSession } from '../options.ts'
import { counted } from '../render/format.ts'
import { resumeEnvironment } from '../session-env.ts'
import { recordWith } from './accept.ts'

/** `pcc daemon api on | off | status`: whether other programs can reach the daemon over TCP. */
export function addDaemonApiCommand(daemon: Command): void {
  const api = daemon.command('api').description('Turn access for other programs over TCP on or off')
  const add = (name: string, description: string, action: (context: CommandContext) => Promise<number>) =>
    api
      .command(name)
      .description(description)
      .option('--json', 'print JSON')
      .action(async (_options: unknown, command: Command) => {
        throw new ExitCode(await action(await commandContext(command)))
      })
  add('on', 'Open api.host and api.port for them, now and after a restart', context => switchApi(context, true))
  add('off', 'Stop listening there', context => switchApi(context, false))
  add('status', 'Show whether it listens (exit code 1 if not)', status)
}

/** The setting is written only if the daemon could do it: one that cannot listen is off after a restart too. */
async function switchApi(context: CommandContext, on: boolean): Promise<number> {
  const { env, paths } = context
  refuseInSession(env, `daemon api ${on ? 'on' : 'off'}`)
  const client = await openClient(paths, context)
  const agentEnv = on ? { env: await resumeEnvironment({ paths, env, project: paths.home }) } : {}
  const now = await client.request<ApiStatus>('POST', '/daemon/api', { on, ...agentEnv })
  const { setSetting } = await import('../../domain/config/edit.ts')
  await setSetting(paths, 'api.enabled', String(on), { record: recordWith(paths) })
  if (env['PCC_API_ENABLED'] !== undefined) context.note('PCC_API_ENABLED is set and counts after a restart.')
  print(context, now)
  return 0
}

async function status(context: CommandContext): Promise<number> {
  const client = await findClient(context.paths)
  const now = client && (await client.request<ApiStatus>('GET', '/daemon/api'))
  print(context, now ?? { on: false, address: null, connections: 0, streams: 0, problem: 'the daemon is not running' })
  return now?.on ? 0 : 1
}

function print({ json, out }: CommandContext, now: ApiStatus): void {
  const { on, address, connections, streams, problem } = now
  if (json) {
    out(JSON.stringify(now, null, 2))
    return
  }
  const open = `${counted(connections, 'connection')}, ${counted(streams, 'event stream')}`
  out(on ? `The API listens on ${address} (${open}).` : 'The API does not listen: only pcc itself reaches the daemon.')
  if (problem !== null) out(`  ${on ? 'Soon' : 'Why'}: ${problem}`)
  if (on) out('  Keys:     pcc api keys create --scope work\n  Document: pcc docs api, or /api/v1/openapi.json there')
}
