import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmuxSocket } from '../../agents/tmux/window/socket.ts'
import { AppError } from '../../base/errors.ts'
import { findProgram } from '../../base/process/find-program.ts'
import type { SessionView } from '../../domain/api.ts'
import type { Client } from '../client.ts'
import type { Context } from '../context.ts'
import { awaitWindow } from './await-window.ts'

/** Puts the person into the terminal of an agent until they leave it. Nothing where the session is over before it has one. */
export async function enterTerminal(
  session: SessionView,
  { places, env, note }: Context,
  client: Client,
): Promise<number | undefined> {
  if (findProgram('tmux', env) === undefined) throw new AppError('tmux_missing', {})
  const socket = tmuxSocket(places.socket)
  const { id } = session
  if (!(await awaitWindow(session, { client, socket, env, tell: note }))) return undefined
  const { TMUX, ...outside } = env
  // Within the same server one changes windows; within another one's tmux, ours is shown inside it.
  const how = TMUX?.split(',')[0] === socket ? 'switch-client' : 'attach-session'
  const child = spawn('tmux', ['-u', '-S', socket, how, '-t', `=${id}`], {
    stdio: 'inherit',
    env: how === 'switch-client' ? env : outside,
  })
  // Ctrl+C is a key of the terminal that is shown.
  const wait = () => undefined
  process.on('SIGINT', wait)
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    return code ?? 130
  } finally {
    process.off('SIGINT', wait)
  }
}
