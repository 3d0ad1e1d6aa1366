import { setTimeout as sleep } from 'node:timers/promises'
import { tmuxSocket } from '../../agents/tmux/tmux.ts'
import { AppError } from '../../base/errors.ts'
import { findProgram } from '../../base/process/find-program.ts'
import { runShort } from '../../base/process/run-short.ts'
import type { SessionView } from '../../domain/api.ts'
import type { Client } from '../connection/client.ts'
import type { CommandContext } from '../context.ts'
import { hasEnded, statusWords } from '../render/format.ts'
import { runInTerminal } from '../run-in-terminal.ts'

/**
 * Attaches the person to the terminal of an agent until they leave it, and returns tmux's exit code. Returns `undefined`
 * when the session ends before it has a terminal.
 */
export async function enterTerminal(
  session: SessionView,
  { paths, env, note }: CommandContext,
  client: Client,
): Promise<number | undefined> {
  if (findProgram('tmux', env) === undefined) throw new AppError('tmux_missing', {})
  const socket = tmuxSocket(paths.socket)
  const { id } = session
  if (!(await awaitWindow(session, { client, socket, env, note }))) return undefined
  const { TMUX, ...outside } = env
  // Inside the same tmux server the client is switched; inside another tmux, ours is shown nested.
  const command = TMUX?.split(',')[0] === socket ? 'switch-client' : 'attach-session'
  const { code, error } = await runInTerminal({
    command: 'tmux',
    args: ['-u', '-S', socket, command, '-t', `=${id}`],
    env: command === 'switch-client' ? env : outside,
  })
  if (error) throw error
  return code ?? 130
}

const POLL_MS = 200
/** A command to a tmux server takes milliseconds. */
const ANSWER_MS = 10_000

interface AwaitWindowOptions {
  client: Client
  socket: string
  env: Record<string, string | undefined>
  /** Prints once what is waited for, and only if there is a wait. */
  note(line: string): void
}

/**
 * Waits until a session has a terminal: one that is starting or queued has none yet. Returns false when the session ends
 * first.
 */
async function awaitWindow({ id }: SessionView, { client, socket, env, note }: AwaitWindowOptions): Promise<boolean> {
  for (let polls = 0; ; polls++) {
    if (await hasWindow(id, { socket, env })) return true
    const session = await client.request<SessionView>('GET', `/sessions/${id}`)
    if (hasEnded(session)) return false
    if (polls === 1) note(`${statusWords(session).text}: the terminal of ${id} opens when its agent starts …`)
    await sleep(POLL_MS)
  }
}

async function hasWindow(id: string, { socket, env }: Pick<AwaitWindowOptions, 'socket' | 'env'>): Promise<boolean> {
  const args = ['-S', socket, '-f', '/dev/null', 'has-session', '-t', `=${id}`]
  const limits = { timeoutMs: ANSWER_MS, maxBytes: 100_000 }
  // It fails if there is no such window, or no server yet.
  return (await runShort({ command: 'tmux', args, cwd: '/', env, ...limits })).code === 0
}
